import type { Context } from 'hono'
import { listApiKeys } from '../../../db/accounts/api-keys.ts'
import { listChannels } from '../../../db/accounts/channels.ts'
import { permissionList } from '../../core/typed/lists.ts'
import { durationSeconds } from '../../core/typed/numbers.ts'
import { endKey, makeKey } from '../../setup/keys.ts'
import { makingOf } from '../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'
import { settingNeeded } from '../page/setting-needed.ts'
import { orEmpty, parseTyped, typedIn } from '../page/typed-form.ts'
import { allow } from '../people/allow.ts'
import { accountOf } from './account-of.ts'
import { KeyShownPage, NewKeyPage, RevokePage } from './keys.tsx'

const localApi = 'http://127.0.0.1:3000'

/** Creates and revokes the API keys of an account, as `outbound key` does. */
export function apiKeys(runtime: AdminRuntime): AdminApp {
  const { db, settings } = runtime
  const app: AdminApp = factory.createApp()

  app.get('/:accountId/keys/new', allow('operator'), async (c) =>
    c.html(<NewKeyPage account={await accountOf(c, runtime)} />),
  )

  app.post('/:accountId/keys/new', allow('operator'), async (c) => {
    const account = await accountOf(c, runtime)
    const { accountId } = account
    const typed = await typedIn(c)
    const read = parseTyped(typed, { permissions: permissionList, expiresIn: orEmpty(durationSeconds) })
    if ('issues' in read)
      return c.html(<NewKeyPage account={account} typed={typed} issues={read.issues} />, 400)
    const { permissions, expiresIn: expiresInSeconds } = read.values
    const pepper = settingNeeded(settings, 'API_KEY_PEPPER')
    const { apiKey } = await makeKey(
      makingOf(c, runtime),
      { accountId, permissions, expiresInSeconds },
      pepper,
    )
    const [channel] = await listChannels(db, accountId)
    const baseUrl = settings.PUBLIC_BASE_URL?.replace(/\/$/, '') ?? localApi
    return c.html(
      <KeyShownPage account={account} apiKey={apiKey} channelId={channel?.channelId} baseUrl={baseUrl} />,
    )
  })

  app.get('/:accountId/keys/:keyId/revoke', allow('operator'), async (c) => {
    const account = await accountOf(c, runtime)
    return c.html(<RevokePage account={account} listed={await keyOf(c, account.accountId)} />)
  })

  app.post('/:accountId/keys/:keyId/revoke', allow('operator'), async (c) => {
    const { accountId } = await accountOf(c, runtime)
    const { keyId } = await keyOf(c, accountId)
    await endKey(makingOf(c, runtime), keyId)
    return c.redirect(`/accounts/${accountId}`, 303)
  })
  return app

  async function keyOf(c: Context<AdminEnv>, accountId: string) {
    const key = (await listApiKeys(db, accountId)).find(({ keyId }) => keyId === c.req.param('keyId'))
    if (key) return key
    throw new PageError(404, 'The account has no such key.')
  }
}
