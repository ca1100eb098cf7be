import type { Context } from 'hono'
import { findAccount } from '../../../db/accounts/accounts.ts'
import { findEndpoint } from '../../../db/callbacks/endpoints.ts'
import { endpointDisabled, endpointSchemas, tooManyEndpoints } from '../../core/callbacks/endpoint-request.ts'
import { describeIssue } from '../../core/requests/issues.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { overlapSeconds } from '../../core/typed/numbers.ts'
import { beginTest, changeEndpoint, endEndpoint, makeEndpoint, replaceSecret } from '../../setup/endpoints.ts'
import { makingOf } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { TextField } from '../page/fields.tsx'
import { settingNeeded } from '../page/setting-needed.ts'
import { type FieldIssues, parseTyped, type Typed, typedIn } from '../page/typed-form.ts'
import { allow } from '../people/allow.ts'
import { hostOf } from './callback-table.tsx'
import { EndpointFormPage, QuestionPage, SecretShownPage } from './forms.tsx'

/** Creates, changes, tests and deletes endpoints, as `outbound endpoint` does. */
export function endpointForms(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()
  const schemas = endpointSchemas(runtime.settings.CLIENT_PRIVATE_NETWORKS)

  app.get('/new', allow('operator'), async (c) => {
    const account = c.get('account')
    if (!account)
      throw new PageError(400, 'Choose the account first, in the row on top or on the page Accounts.')
    return c.html(newForm(account, {}))
  })

  app.post('/new', allow('operator'), async (c) => {
    const account = await accountNamed(runtime, c.req.query('accountId') ?? '')
    const typed = await typedIn(c)
    const { data, error } = schemas.create.safeParse(bodyOf(typed), { error: describeIssue })
    if (error) return c.html(newForm(account, typed, issuesOf(error)), 400)
    const key = settingNeeded(runtime.settings, 'CREDENTIALS_KEY')
    const made = await makeEndpoint(makingOf(c, runtime), { accountId: account.accountId, ...data }, key)
    if (!made) throw new PageError(409, tooManyEndpoints)
    return c.html(<SecretShownPage {...made} url={data.url} />)
  })

  app.get('/:endpointId/change', allow('operator'), async (c) => {
    const endpoint = await endpointOf(c, runtime)
    return c.html(changeForm(endpoint, { events: endpoint.events?.join(',') }))
  })

  app.post('/:endpointId/change', allow('operator'), async (c) => {
    const endpoint = await endpointOf(c, runtime)
    const typed = await typedIn(c)
    const { url, ...rest } = bodyOf(typed)
    const { data, error } = schemas.update.safeParse(
      { ...rest, ...(url !== '' && { url }) },
      { error: describeIssue },
    )
    if (error) return c.html(changeForm(endpoint, typed, issuesOf(error)), 400)
    await changeEndpoint(makingOf(c, runtime), endpoint.endpointId, data)
    return c.redirect(`/endpoints/${endpoint.endpointId}`, 303)
  })
  app.route('/', endpointActions(runtime))
  return app
}

/** What is done with an endpoint that is there. */
function endpointActions(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.post('/:endpointId/test', allow('operator'), async (c) => {
    const { endpointId, disabledAt, disabledReason } = await endpointOf(c, runtime)
    if (disabledAt) throw new PageError(409, `${endpointDisabled(disabledReason)}.`)
    const test = await beginTest(makingOf(c, runtime), endpointId)
    return c.redirect(`/endpoints/${endpointId}?test=${test}`, 303)
  })

  app.get('/:endpointId/rotate-secret', allow('operator'), async (c) =>
    c.html(secretQuestion(await endpointOf(c, runtime), {})),
  )

  app.post('/:endpointId/rotate-secret', allow('operator'), async (c) => {
    const endpoint = await endpointOf(c, runtime)
    const typed = await typedIn(c)
    const read = parseTyped(typed, { overlap })
    if ('issues' in read) return c.html(secretQuestion(endpoint, typed, read.issues), 400)
    const key = settingNeeded(runtime.settings, 'CREDENTIALS_KEY')
    const { endpointId, url } = endpoint
    const change = { id: endpointId, overlapSeconds: read.values.overlap }
    const replaced = await replaceSecret(makingOf(c, runtime), change, key)
    if (!replaced) throw noEndpoint()
    return c.html(<SecretShownPage endpointId={endpointId} url={url} {...replaced} />)
  })

  app.get('/:endpointId/delete', allow('operator'), async (c) => {
    const { endpointId, url, waiting } = await endpointOf(c, runtime)
    const title = `Delete the endpoint ${hostOf(url)}?`
    const words = `Its callbacks are deleted with it, ${waiting} of which still wait. This can't be undone.`
    return c.html(<QuestionPage {...{ endpointId, title, words }} to="delete" verb="Delete" />)
  })

  app.post('/:endpointId/delete', allow('operator'), async (c) => {
    const { endpointId } = await endpointOf(c, runtime)
    await endEndpoint(makingOf(c, runtime), endpointId)
    return c.redirect('/endpoints', 303)
  })
  return app
}

const longestOverlapSeconds = 7 * 86_400

function overlap(text: string): number {
  return Math.min(overlapSeconds(text), longestOverlapSeconds)
}

const noEndpoint = () => new PageError(404, 'There is no such endpoint.')

async function endpointOf(c: Context<AdminEnv>, { db }: AdminRuntime) {
  const id = c.req.param('endpointId') ?? ''
  const endpoint = canBeRecordId(id) ? await findEndpoint(db, id) : undefined
  if (endpoint) return endpoint
  throw noEndpoint()
}

type Endpoint = Awaited<ReturnType<typeof endpointOf>>

async function accountNamed({ db }: AdminRuntime, id: string) {
  const account = canBeRecordId(id) ? await findAccount(db, id) : undefined
  if (account) return account
  throw new PageError(404, 'There is no such account.')
}

/** As the API takes it. */
const bodyOf = ({ url = '', events = '' }: Typed) => ({
  url,
  events: events === '' ? null : events.split(','),
})

const issuesOf = ({ issues }: { issues: { path: PropertyKey[]; message: string }[] }): FieldIssues =>
  Object.fromEntries(issues.map(({ path: [field], message }) => [String(field), message]))

const newForm = (account: { accountId: string; name: string }, typed: Typed, issues: FieldIssues = {}) => (
  <EndpointFormPage
    title="New endpoint"
    action={`/endpoints/new?accountId=${account.accountId}`}
    back={`/accounts/${account.accountId}`}
    about={`Gets callbacks about the sends of ${account.name}`}
    verb="Create endpoint"
    {...{ typed, issues }}
  />
)

const changeForm = ({ endpointId, url }: Endpoint, typed: Typed, issues: FieldIssues = {}) => (
  <EndpointFormPage
    title="Change endpoint"
    action={`/endpoints/${endpointId}/change`}
    back={`/endpoints/${endpointId}`}
    about="Another URL counts as a new endpoint: its first call is made with care"
    verb="Change endpoint"
    presentUrl={url}
    {...{ typed, issues }}
  />
)

const secretQuestion = ({ endpointId, url }: Endpoint, typed: Typed, issues: FieldIssues = {}) => (
  <QuestionPage
    endpointId={endpointId}
    title={`Replace the secret of ${hostOf(url)}?`}
    words="The new one is shown once. Until the overlap ends, calls are signed with both."
    to="rotate-secret"
    verb="Replace the secret"
  >
    <TextField
      name="overlap"
      label="Overlap"
      value={typed.overlap ?? '24h'}
      hint="From 0s to 7d"
      issue={issues.overlap}
    />
  </QuestionPage>
)
