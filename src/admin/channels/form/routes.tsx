import type { Context } from 'hono'
import { findAccount } from '../../../../db/accounts/accounts.ts'
import {
  findChannel,
  listChannels,
  readChannelFields,
  readSealedConfig,
} from '../../../../db/accounts/channels.ts'
import { type ConfigField, configFieldsOf } from '../../../core/channels/config-fields.ts'
import { openConfig } from '../../../core/channels/sealed-config.ts'
import { canBeRecordId } from '../../../core/requests/record-id.ts'
import { autoCauses } from '../../../core/suppression/suppression.ts'
import { credentialsKeys } from '../../../platform/settings/settings.ts'
import { isProduction } from '../../../platform/settings/weak-settings.ts'
import { findProvider } from '../../../providers/known.ts'
import type { ConfigIssues } from '../../../setup/channels/channel-config.ts'
import {
  type ChannelMade,
  type ChannelMaking,
  changeChannel,
  makeChannel,
} from '../../../setup/channels/channels.ts'
import { SetupFault } from '../../../setup/setup-fault.ts'
import { makingOf } from '../../audit/page-actor.ts'
import { type AdminApp, type AdminEnv, type AdminRuntime, factory } from '../../context.ts'
import { PageError } from '../../errors.tsx'
import { settingNeeded } from '../../page/setting-needed.ts'
import { type FieldIssues, type Typed, typedIn } from '../../page/typed-form.ts'
import { allow } from '../../people/allow.ts'
import { inForm } from './config-section.tsx'
import { ChannelFormPage, NewChannelPage } from './form-page.tsx'
import { askedIn, configIn, typedOf } from './typed-channel.ts'

/** Creates and changes channels, as `outbound channel create` and `update` do. */
export function channelForms(runtime: AdminRuntime): AdminApp {
  const app: AdminApp = factory.createApp()

  app.get('/new', allow('operator'), async (c) => {
    const account = c.get('account')
    const provider = c.req.query('provider')
    if (!account || provider === undefined || !findProvider(provider))
      return c.html(<NewChannelPage account={account} provider={provider} />)
    return await showNew(c, runtime, { accountId: account.accountId, provider, typed: newTyped(provider) })
  })

  app.post('/new', allow('operator'), async (c) => {
    const typed = await typedIn(c)
    const { accountId = '', provider = '' } = c.req.query()
    const rules = findProvider(provider)
    if (!rules) throw new PageError(400, 'There is no such provider any more. Open the page again.')
    const config = configIn(typed, configFieldsOf(rules), { opened: {}, present: undefined })
    const read = askedIn(typed, newTyped(provider))
    const again = (issues: FieldIssues) => showNew(c, runtime, { accountId, provider, typed, issues })
    if ('issues' in read || 'issues' in config) return await again({ ...issuesIn(read), ...issuesIn(config) })
    const making = channelMaking(c, runtime)
    await accountNamed(runtime, accountId)
    const made = await orIssues(() =>
      makeChannel(making, { accountId, provider, config: config.config, asked: read.asked }),
    )
    return 'issues' in made ? await again(made.issues) : c.redirect(`/channels/${made.channelId}`, 303)
  })

  app.get('/:channelId/change', allow('operator'), async (c) => {
    const channel = await presentChannel(c, runtime)
    return await showChange(c, runtime, channel, { typed: typedOf(channel.fields) })
  })

  app.post('/:channelId/change', allow('operator'), async (c) => {
    const channel = await presentChannel(c, runtime)
    const { id, fields, configFields } = channel
    const typed = await typedIn(c)
    const making = channelMaking(c, runtime)
    const opened = await openedConfig(runtime, id)
    const config = configIn(typed, configFields, { opened, present: fields.shownConfig ?? {} })
    const read = askedIn(typed, typedOf(fields))
    const again = (issues: FieldIssues) => showChange(c, runtime, channel, { typed, issues })
    if ('issues' in read || 'issues' in config) return await again({ ...issuesIn(read), ...issuesIn(config) })
    const isSame = JSON.stringify(config.config) === JSON.stringify(opened)
    const { name, ...rest } = read.asked
    const asked = { ...rest, ...(name !== fields.name && { name }) }
    const made = await orIssues(async () => {
      const changed = await changeChannel(making, { id, asked, ...(!isSame && { config: config.config }) })
      if (changed === undefined) throw noChannel()
      return changed === 'unchanged' ? { channelId: id, warnings: [] } : changed
    })
    return 'issues' in made ? await again(made.issues) : c.redirect(`/channels/${id}`, 303)
  })
  return app
}

const noChannel = () => new PageError(404, 'There is no such channel.')

const issuesIn = (read: { issues: FieldIssues } | object): FieldIssues =>
  'issues' in read ? read.issues : {}

/** What the form of a new channel says at first. */
const newTyped = (provider: string): Typed => ({
  name: provider,
  onUncertain: findProvider(provider)?.onUncertain,
  ordering: 'contact',
  autoSuppress: autoCauses.join(','),
  oneClick: 'off',
})

/** Puts what can't be set up at its field. */
async function orIssues(
  make: () => Promise<ChannelMade>,
): Promise<{ channelId: string } | { issues: FieldIssues }> {
  try {
    const made = await make()
    return 'issues' in made ? { issues: configIssues(made.issues) } : made
  } catch (error) {
    if (!(error instanceof SetupFault)) throw error
    return { issues: { [error.field]: error.message } }
  }
}

const configIssues = ({ byField }: ConfigIssues): FieldIssues =>
  Object.fromEntries(
    Object.entries(byField).map(([name, message]) => [name === '' ? 'config' : inForm(name), message]),
  )

function channelMaking(c: Context<AdminEnv>, runtime: AdminRuntime): ChannelMaking {
  const { settings } = runtime
  const key = settingNeeded(settings, 'CREDENTIALS_KEY')
  return {
    ...makingOf(c, runtime),
    sealing: () => ({ key, networks: settings.ALLOWED_PRIVATE_NETWORKS, isProduction: isProduction({}) }),
    keys: () => ({ CREDENTIALS_KEY: key, CREDENTIALS_KEY_PREVIOUS: settings.CREDENTIALS_KEY_PREVIOUS }),
  }
}

async function openedConfig({ db, settings }: AdminRuntime, id: string): Promise<object> {
  const sealed = await readSealedConfig(db, id)
  if (sealed === undefined) throw noChannel()
  const { CREDENTIALS_KEY_PREVIOUS } = settings
  const CREDENTIALS_KEY = settingNeeded(settings, 'CREDENTIALS_KEY')
  return openConfig(sealed, id, credentialsKeys({ CREDENTIALS_KEY, CREDENTIALS_KEY_PREVIOUS })) as object
}

async function presentChannel(c: Context<AdminEnv>, { db }: AdminRuntime) {
  const id = (c.req.param('channelId') ?? '').toLowerCase()
  const [channel, fields] = canBeRecordId(id)
    ? await Promise.all([findChannel(db, id), readChannelFields(db, id)])
    : []
  if (!channel || !fields) throw noChannel()
  const rules = findProvider(channel.provider)
  if (!rules)
    throw new PageError(
      409,
      `The file of ${channel.provider} was removed. Set it again: outbound provider set`,
    )
  return { id, ...channel, fields, rules, configFields: configFieldsOf(rules) }
}

async function accountNamed({ db }: AdminRuntime, accountId: string) {
  const account = canBeRecordId(accountId) ? await findAccount(db, accountId) : undefined
  if (account) return account
  throw new PageError(404, 'There is no such account.')
}

interface Shown {
  typed: Typed
  issues?: FieldIssues
}

async function showNew(
  c: Context<AdminEnv>,
  runtime: AdminRuntime,
  { accountId, provider, typed, issues = {} }: Shown & { accountId: string; provider: string },
) {
  const account = await accountNamed(runtime, accountId)
  const rules = findProvider(provider)
  if (!rules) throw new PageError(404, 'There is no such provider.')
  const fields: ConfigField[] = configFieldsOf(rules)
  return c.html(
    <ChannelFormPage
      title="New channel"
      action={`/channels/new?${new URLSearchParams({ accountId, provider })}`}
      back={`/accounts/${accountId}`}
      accountName={account.name}
      present={undefined}
      others={await listChannels(runtime.db, accountId)}
      verb="Create channel"
      {...{ provider, rules, fields, typed, issues }}
    />,
    Object.keys(issues).length > 0 ? 400 : 200,
  )
}

async function showChange(
  c: Context<AdminEnv>,
  runtime: AdminRuntime,
  { id, accountId, provider, rules, fields, configFields }: Awaited<ReturnType<typeof presentChannel>>,
  { typed, issues = {} }: Shown,
) {
  const [account, channels] = await Promise.all([
    accountNamed(runtime, accountId),
    listChannels(runtime.db, accountId),
  ])
  return c.html(
    <ChannelFormPage
      title="Change channel"
      action={`/channels/${id}/change`}
      back={`/channels/${id}`}
      accountName={account.name}
      present={fields.shownConfig ?? {}}
      fields={configFields}
      others={channels.filter(({ channelId }) => channelId !== id)}
      verb="Change channel"
      {...{ provider, rules, typed, issues }}
    />,
    Object.keys(issues).length > 0 ? 400 : 200,
  )
}
