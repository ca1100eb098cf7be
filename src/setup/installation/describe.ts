import type { Installation } from '../../../db/accounts/installation.ts'
import { openConfig } from '../../core/channels/sealed-config.ts'
import { isShownField } from '../../core/channels/shown-config.ts'
import { providerOf } from '../../providers/known.ts'
import { fallbackOf, type StoredChannel, settingsOf } from './channel-settings.ts'
import type { InstallationFile } from './document.ts'
import { environmentNames } from './environment-names.ts'

interface Describing {
  templates: ReadonlyMap<string, Installation['templates']>
  keys: readonly Buffer[]
  nameOf: (...parts: string[]) => string
}

/** Compares the codes of characters: the order depends on no locale. */
const compare = (one: string, other: string) => (one < other ? -1 : Number(one > other))
const by =
  <Item>(keyOf: (item: Item) => string) =>
  (one: Item, other: Item) =>
    compare(keyOf(one), keyOf(other))

/** The names that stand for several things, each with what it is of. Names are the keys of the file. */
export function ambiguousNames(installation: Installation, accountIds?: ReadonlySet<string>): string[] {
  const accounts = installation.accounts.filter(({ id }) => accountIds?.has(id) ?? true)
  const repeated = (names: string[]) => [
    ...new Set(names.filter((name, index) => names.indexOf(name) !== index)),
  ]
  return [
    ...repeated(accounts.map(({ name }) => name)).map((name) => `accounts named ${name}`),
    ...accounts.flatMap(({ id, name }) => {
      const own = <Item extends { accountId: string }>(items: Item[]) =>
        items.filter((item) => item.accountId === id)
      return [
        ...repeated(own(installation.channels).map((one) => one.name)).map(
          (one) => `channels named ${one} of ${name}`,
        ),
        ...repeated(own(installation.flows).map((one) => one.name)).map(
          (one) => `flows named ${one} of ${name}`,
        ),
        ...repeated(own(installation.endpoints).map(({ url }) => url)).map(
          (url) => `endpoints of ${name} at ${new URL(url).host}`,
        ),
      ]
    }),
  ]
}

/**
 * The installation as its file has it: for the same state the same.
 *
 * @param accountId of the account to describe alone, with the providers that it uses, and without people.
 */
export function describeInstallation(
  installation: Installation,
  keys: readonly Buffer[],
  accountId?: string,
): InstallationFile {
  const describing = { keys, templates: templatesByChannel(installation), nameOf: environmentNames() }
  const accounts = installation.accounts.filter(({ id }) => accountId === undefined || id === accountId)
  const used = new Set(
    installation.channels
      .filter((channel) => channel.accountId === accountId)
      .map(({ provider }) => provider),
  )
  const providers = installation.providers
    .filter(({ name }) => accountId === undefined || used.has(name))
    .toSorted(by(({ name }) => name))
  const people = installation.people.toSorted(by(({ nameKey }) => nameKey))
  return {
    providers: Object.fromEntries(providers.map(({ name, content }) => [name, content])),
    accounts: accounts
      .toSorted(by(({ name }) => name))
      .map((account) => describeAccount(installation, account, describing)),
    ...(accountId === undefined && {
      people: people.map(({ name, role }) => ({
        name,
        role,
        password: { env: describing.nameOf(name, 'PASSWORD') },
      })),
    }),
  }
}

/** The templates of each channel by its id. */
export function templatesByChannel({ templates }: Installation) {
  const byChannel = new Map<string, Installation['templates']>()
  for (const template of templates) {
    const others = byChannel.get(template.channelId)
    if (others) others.push(template)
    else byChannel.set(template.channelId, [template])
  }
  return byChannel
}

function describeAccount(
  installation: Installation,
  { id, name, points, seconds, ceilings }: Installation['accounts'][number],
  describing: Describing,
) {
  const own = <Item extends { accountId: string }>(items: Item[]) =>
    items.filter((item) => item.accountId === id)
  const channels = own(installation.channels).toSorted(by((channel) => channel.name))
  const names = new Map(channels.map((channel) => [channel.id, channel.name]))
  return {
    name,
    rateLimit: points === null || seconds === null ? null : `${points}/${seconds}`,
    ceilings: ceilings?.toSorted() ?? [],
    channels: channels.map((channel) => ({
      name: channel.name,
      provider: channel.provider,
      config: describeConfig(channel, name, describing),
      ...settingsOf(channel),
      fallback: fallbackOf(channel, (channelId) => names.get(channelId)),
      templates: Object.fromEntries(
        (describing.templates.get(channel.id) ?? [])
          .toSorted(by((template) => template.name))
          .map((template) => [template.name, template.definition as Record<string, unknown>]),
      ),
    })),
    flows: own(installation.flows)
      .map((flow) => flow.name)
      .toSorted(compare),
    endpoints: own(installation.endpoints)
      .toSorted(by(({ url }) => url))
      .map(({ url, events }) => ({ url, events: events?.toSorted() ?? null })),
  }
}

/** A config with the names of variables in place of its secrets. */
function describeConfig(
  { id, name, provider, sealedConfig }: StoredChannel,
  account: string,
  { keys, nameOf }: Describing,
): Record<string, unknown> {
  const { shownFields } = providerOf(provider)
  const config = openConfig(sealedConfig, id, keys) as Record<string, unknown>
  return Object.fromEntries(
    Object.entries(config)
      .filter(([, value]) => value !== undefined && value !== null)
      .map(([field, value]) => [
        field,
        isPlain(field, value, shownFields) ? value : { env: nameOf(account, name, field) },
      ]),
  )
}

/** Whether the value may stand in the file: an address only if it is a host alone, as its path and query may hold secrets. */
function isPlain(field: string, value: unknown, shownFields: readonly string[] = []): boolean {
  if (typeof value === 'number' || typeof value === 'boolean') return true
  if (typeof value !== 'string') return false
  if (isShownField(field, shownFields)) return true
  return (
    ['url', 'baseUrl', 'tokenUrl'].includes(field) &&
    URL.canParse(value) &&
    [new URL(value).origin, `${new URL(value).origin}/`].includes(value)
  )
}
