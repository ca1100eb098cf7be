import type { Context } from 'hono'
import { type ListedSession, listSessions } from '../../../db/people/sessions.ts'
import { changePassword, endSessions } from '../../setup/people/people.ts'
import { SetupFault } from '../../setup/setup-fault.ts'
import { makingOf } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { formLimit } from '../http/form-limit.ts'
import { TextField } from '../page/fields.tsx'
import { Layout } from '../page/layout.tsx'
import { PageHead } from '../page/page-head.tsx'
import { type FieldIssues, typedIn } from '../page/typed-form.ts'
import { allow } from './allow.ts'
import { setSessionCookie } from './session-cookie.ts'
import { SessionsSection, sessionIn } from './sessions-section.tsx'
import type { SignIn } from './sign-in.ts'

/** The pages of the person who is signed in: the own password, and the own sessions. */
export function ownPages(runtime: AdminRuntime, signIn: SignIn): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()
  app.use(formLimit)

  app.get('/', allow('reader'), (c) => show(c))

  app.post('/password', allow('reader'), async (c) => {
    const { name } = c.get('person')
    requireSession(c)
    const { present = '', password = '' } = await typedIn(c)
    const address = c.get('address')
    const checked = await signIn.check({ name, password: present, address })
    if ('refused' in checked) return await show(c, { present: refusedWords[checked.refused] })
    await checked.settle()
    try {
      await changePassword(makingOf(c, runtime), name, password)
    } catch (error) {
      if (!(error instanceof SetupFault)) throw error
      return await show(c, { [error.field]: `${error.message}.` })
    }
    // The change has ended all sessions, this one too.
    const again = await signIn.begin({ name, password, address })
    if ('token' in again) setSessionCookie(c, again.token)
    return c.redirect('/me', 303)
  })

  app.post('/sessions', allow('reader'), async (c) => {
    requireSession(c)
    const session = sessionIn(await typedIn(c))
    await endSessions(makingOf(c, runtime), c.get('person').name, session)
    return c.redirect('/me', 303)
  })
  return app

  async function show(c: Context<AdminEnv>, issues?: FieldIssues) {
    const sessionHash = c.get('sessionHash')
    const { name, role } = c.get('person')
    const sessions = sessionHash && (await listSessions(db, name, sessionHash))
    return c.html(<OwnPage {...{ name, role, sessions, issues }} />, issues ? 400 : 200)
  }
}

const refusedWords = {
  wrong: 'This is not your present password.',
  limited: 'Too many wrong passwords. Try again in some minutes.',
  busy: 'Too many people sign in at this moment. Try again.',
}

/** Who is signed in by a proxy, or by ADMIN_PASSWORD, has no password and no sessions here. */
function requireSession(c: Context<AdminEnv>): void {
  if (c.get('sessionHash')) return
  throw new PageError(409, 'You have no password here: you were not signed in by the page /login.')
}

interface OwnPageProps {
  name: string
  role: string
  /** Undefined for who isn't signed in by name and password. */
  sessions: readonly ListedSession[] | undefined
  issues: FieldIssues | undefined
}

function OwnPage({ name, role, sessions, issues = {} }: OwnPageProps) {
  return (
    <Layout title="You" at="/me">
      <PageHead title={name} about={`Role: ${role}`} />
      {sessions === undefined ? (
        <section aria-label="Password">
          <p>
            You have no password here: a proxy signed you in, or ADMIN_PASSWORD, which several people may
            share.
          </p>
        </section>
      ) : (
        <>
          <section aria-labelledby="password-of">
            <h2 id="password-of">Change your password</h2>
            <form method="post" action="/me/password" class="fields one">
              <TextField
                name="present"
                label="Present password"
                type="password"
                issue={issues.present}
                required
              />
              <TextField
                name="password"
                label="New password"
                type="password"
                hint="At least 12 characters, such as five words. It ends all your sessions but this one"
                issue={issues.password}
                required
              />
              <button type="submit" class="main">
                Change password
              </button>
            </form>
          </section>
          <SessionsSection sessions={sessions} action="/me/sessions" />
        </>
      )}
    </Layout>
  )
}
