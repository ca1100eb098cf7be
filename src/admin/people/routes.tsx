import type { Context } from 'hono'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { listPeople } from '../../../db/people/people.ts'
import { listSessions } from '../../../db/people/sessions.ts'
import { isRole, nameKey, roles } from '../../core/accounts/person.ts'
import { personName } from '../../core/typed/names.ts'
import { TypedFault } from '../../core/typed/typed-fault.ts'
import { changePassword, changeRole, endPerson, endSessions, makePerson } from '../../setup/people/people.ts'
import { SetupFault } from '../../setup/setup-fault.ts'
import { changesShown } from '../audit/history.tsx'
import { makingOf } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { type FieldIssues, parseTyped, typedIn } from '../page/typed-form.ts'
import { allow } from './allow.ts'
import { NewPersonPage, PeoplePage, personLink } from './people-page.tsx'
import { PersonPage, RemovePersonPage } from './person-page.tsx'
import { sessionIn } from './sessions-section.tsx'

/** The people who may sign in: added, changed and removed as by `outbound admin-user`. */
export function people(runtime: AdminRuntime): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()
  app.use(formLimit)

  app.get('/', allow('operator'), async (c) => c.html(<PeoplePage people={await listPeople(db)} />))

  app.get('/new', allow('operator'), (c) => c.html(<NewPersonPage />))

  app.post('/new', allow('operator'), async (c) => {
    const { password = '', ...typed } = await typedIn(c)
    const isFirst = (await listPeople(db)).length === 0
    const read = parseTyped(typed, { name: personName, role: isFirst ? operatorFirst : role })
    const again = (issues: FieldIssues) => c.html(<NewPersonPage {...{ typed, issues }} />, 400)
    if ('issues' in read) return again(read.issues)
    const issues = await passwordIssues(async () => {
      if (await makePerson(makingOf(c, runtime), read.values, password)) return undefined
      return { name: 'There is a person of this name already.' }
    })
    return issues ? again(issues) : c.redirect('/people', 303)
  })

  app.get('/person', allow('operator'), (c) => showPerson(c, runtime, c.req.query('name') ?? ''))
  app.get('/remove', allow('operator'), async (c) => {
    const { name } = await personNamed(runtime, c.req.query('name') ?? '')
    return c.html(<RemovePersonPage name={name} />)
  })
  app.route('/', changes(runtime))
  return app
}

/** What is changed of a person that a form names. */
function changes(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.post('/role', allow('operator'), async (c) => {
    const { name = '', ...typed } = await typedIn(c)
    const read = parseTyped(typed, { role })
    if ('issues' in read) return await showPerson(c, runtime, name, read.issues)
    return leadTo(c, await changeRole(makingOf(c, runtime), name, read.values.role))
  })

  app.post('/password', allow('operator'), async (c) => {
    const { name = '', password = '' } = await typedIn(c)
    let changed: string | undefined
    const issues = await passwordIssues(async () => {
      changed = await changePassword(makingOf(c, runtime), name, password)
      return undefined
    })
    return issues ? await showPerson(c, runtime, name, issues) : leadTo(c, changed)
  })

  app.post('/sessions', allow('operator'), async (c) => {
    const { name = '', ...typed } = await typedIn(c)
    return leadTo(c, await endSessions(makingOf(c, runtime), name, sessionIn(typed)))
  })

  app.post('/remove', allow('operator'), async (c) => {
    const { name = '' } = await typedIn(c)
    if ((await endPerson(makingOf(c, runtime), name)) === undefined) throw noPerson()
    return c.redirect('/people', 303)
  })
  return app
}

const noPerson = () => new PageError(404, 'There is no person of this name.')

function leadTo(c: Context<AdminEnv>, name: string | undefined) {
  if (name === undefined) throw noPerson()
  return c.redirect(personLink(name), 303)
}

function role(text: string) {
  if (isRole(text)) return text
  throw new TypedFault(`Choose one of ${roles.join(', ')}.`)
}

function operatorFirst(text: string) {
  if (role(text) === 'operator') return 'operator' as const
  throw new TypedFault('The first person has to be an operator: others could add nobody here.')
}

async function passwordIssues(
  work: () => Promise<FieldIssues | undefined>,
): Promise<FieldIssues | undefined> {
  try {
    return await work()
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error
    return { [error.field]: `${error.message}.` }
  }
}

async function personNamed({ db }: AdminRuntime, name: string) {
  const person = (await listPeople(db)).find((one) => nameKey(one.name) === nameKey(name))
  if (person) return person
  throw noPerson()
}

async function showPerson(c: Context<AdminEnv>, runtime: AdminRuntime, named: string, issues?: FieldIssues) {
  const { db } = runtime
  const person = await personNamed(runtime, named)
  const [sessions, { items: changes }] = await Promise.all([
    listSessions(db, person.name, c.get('sessionHash')),
    pageOfAudit(db, { target: person.name, limit: changesShown }),
  ])
  return c.html(<PersonPage {...person} {...{ sessions, changes, issues }} />, issues ? 400 : 200)
}
