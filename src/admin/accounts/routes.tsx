import type { Context } from 'hono'
import { listApiKeys } from '../../../db/accounts/api-keys.ts'
import { listChannels } from '../../../db/accounts/channels.ts'
import { listFlows } from '../../../db/accounts/flows.ts'
import { pageOfAudit } from '../../../db/audit/list.ts'
import { listEndpoints } from '../../../db/callbacks/endpoints.ts'
import { pageOfAccounts, setUpProgress } from '../../../db/overview/accounts.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { displayName } from '../../core/typed/display-name.ts'
import { ceilingList } from '../../core/typed/lists.ts'
import { rateLimit } from '../../core/typed/numbers.ts'
import { type AccountChange, limitAccount, makeAccount, rateLimitText } from '../../setup/accounts.ts'
import { makeFlow } from '../../setup/flows.ts'
import { changesShown } from '../audit/history.tsx'
import { makingOf } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { formLimit } from '../http/form-limit.ts'
import { type FieldIssues, orEmpty, parseTyped, type Typed, typedIn } from '../page/typed-form.ts'
import { allow } from '../people/allow.ts'
import { NewAccountPage } from './account-form.tsx'
import { accountOf } from './account-of.ts'
import { AccountPage } from './account-page.tsx'
import { apiKeys } from './key-routes.tsx'
import { AccountListPage } from './list-page.tsx'

const pageSize = 50

/** Empty ceilings are none; an empty rate limit is the service's. */
const limits = {
  rateLimit: orEmpty(rateLimit),
  ceiling: (text: string) => ceilingList(text === '' ? 'none' : text),
}

/** The pages of accounts, with their keys and flows (docs/how-to/set-up-an-account-by-the-console.md). */
export function accounts(runtime: AdminRuntime): AdminApp {
  const { db } = runtime
  const app: AdminApp = factory.createApp()
  app.use(formLimit)

  app.get('/', allow('operator'), async (c) => {
    const asked = c.req.query('after') ?? ''
    const after = canBeRecordId(asked) ? asked : undefined
    const found = await pageOfAccounts(db, { only: c.get('account')?.accountId, after }, pageSize)
    const shown = found.slice(0, pageSize)
    const next = found.length > pageSize ? `/accounts?after=${shown.at(-1)?.accountId}` : undefined
    return c.html(<AccountListPage accounts={shown} next={next} />)
  })

  app.get('/new', allow('operator'), (c) => c.html(<NewAccountPage />))

  app.post('/new', allow('operator'), async (c) => {
    const typed = await typedIn(c)
    const read = parseTyped(typed, { name: displayName, ...limits })
    if ('issues' in read) return c.html(<NewAccountPage typed={typed} issues={read.issues} />, 400)
    const { accountId } = await makeAccount(makingOf(c, runtime), read.values)
    return c.redirect(`/accounts/${accountId}`, 303)
  })

  app.get('/:accountId', allow('operator'), (c) => showAccount(c, runtime))

  app.post('/:accountId/limit', allow('operator'), async (c) => {
    const account = await accountOf(c, runtime)
    const { accountId } = account
    const typed = await typedIn(c)
    const read = parseTyped(typed, limits)
    if ('issues' in read) return await showAccount(c, runtime, { typed, issues: read.issues })
    const change = changeOf(account, typed, read.values)
    if (Object.keys(change).length > 0) await limitAccount(makingOf(c, runtime), accountId, change)
    return c.redirect(`/accounts/${accountId}`, 303)
  })

  app.post('/:accountId/flows', allow('operator'), async (c) => {
    const { accountId } = await accountOf(c, runtime)
    const typed = await typedIn(c)
    const read = parseTyped(typed, { flow: displayName })
    if ('issues' in read) return await showAccount(c, runtime, { typed, issues: read.issues })
    await makeFlow(makingOf(c, runtime), accountId, read.values.flow)
    return c.redirect(`/accounts/${accountId}`, 303)
  })

  app.route('/', apiKeys(runtime))
  return app
}

/** What differs from what the account has. */
function changeOf(
  { rateLimit: presentRate, ceilings }: Awaited<ReturnType<typeof accountOf>>,
  typed: Typed,
  { rateLimit, ceiling }: AccountChange,
): AccountChange {
  const presentText = presentRate ? rateLimitText(presentRate) : ''
  const isOtherRate = typed.rateLimit !== undefined && typed.rateLimit !== presentText
  const isSameCeiling = (typed.ceiling ?? '') === (ceilings ?? []).join(', ')
  return { ...(isOtherRate && { rateLimit: rateLimit ?? null }), ...(!isSameCeiling && { ceiling }) }
}

/** @param faulty what was typed into a form of the page, and what is wrong with it. */
async function showAccount(
  c: Context<AdminEnv>,
  { db }: AdminRuntime,
  faulty?: { typed: Typed; issues: FieldIssues },
) {
  const account = await accountOf(c, { db })
  const { accountId } = account
  const [channels, keys, flows, endpoints, progress, { items: changes }] = await Promise.all([
    listChannels(db, accountId),
    listApiKeys(db, accountId),
    listFlows(db, accountId),
    listEndpoints(db, accountId),
    setUpProgress(db, accountId),
    pageOfAudit(db, { target: accountId, limit: changesShown }),
  ])
  const shown = { account, channels, keys, flows, endpoints, progress, changes, ...faulty }
  return c.html(<AccountPage {...shown} />, faulty ? 400 : 200)
}
