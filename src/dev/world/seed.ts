import { v7 as uuidv7 } from 'uuid'
import { createAccount } from '../../../db/accounts/accounts.ts'
import { createApiKey } from '../../../db/accounts/api-keys.ts'
import { createChannel, listChannels, updateChannel } from '../../../db/accounts/channels.ts'
import { connectDatabase, type Database } from '../../../db/connection/client.ts'
import { mintApiKey, permissions } from '../../core/accounts/api-key.ts'
import { sealConfig } from '../../core/channels/sealed-config.ts'
import { shownConfig } from '../../core/channels/shown-config.ts'
import { contactKinds, defaultContactType } from '../../core/contacts/contact.ts'
import { expectsReceipts } from '../../core/receipts/receipt.ts'
import { readSettings, type Settings } from '../../platform/settings/settings.ts'
import { type ProviderName, providers } from '../../providers/index.ts'
import type { EmulatedProvider, Emulators } from './emulators.ts'

/** An account to send with. */
export interface Seed {
  accountId: string
  apiKey: string
  channelId: string
}

/** The channels that reach emulators, by their providers. */
export type EmulatedChannels = Record<EmulatedProvider, string>

/** Creates an account with a sandbox channel and a key with all permissions. */
export async function seedDemoAccount(environment: Record<string, string>): Promise<Seed> {
  return await withDatabase(environment, async (db, settings) => {
    const accountId = await createAccount(db, 'Demo')
    const { apiKey, displayPrefix, hash } = mintApiKey(settings.API_KEY_PEPPER)
    await createApiKey(db, {
      accountId,
      hash,
      displayPrefix,
      permissions: [...permissions],
      expiresInSeconds: undefined,
    })
    const key = settings.CREDENTIALS_KEY
    const channelId = await makeChannel(db, key, {
      accountId,
      provider: 'sandbox',
      name: 'Sandbox',
      config: {},
    })
    return { accountId, apiKey, channelId }
  })
}

/** Creates a channel to each emulator; channels of an earlier start get the emulator's current address. */
export async function seedEmulatedChannels(
  environment: Record<string, string>,
  accountId: string,
  emulators: Emulators,
): Promise<EmulatedChannels> {
  return await withDatabase(environment, async (db, { CREDENTIALS_KEY: key }) => {
    const existing = await listChannels(db, accountId)
    const providers = Object.keys(emulators) as EmulatedProvider[]
    const seeded = providers.map(async (provider) => {
      const name = `Emulated ${provider}`
      const { config } = emulators[provider]
      const id = existing.find((channel) => channel.provider === provider && channel.name === name)?.channelId
      if (id === undefined)
        return [provider, await makeChannel(db, key, { accountId, provider, name, config })]
      await updateChannel(db, id, seal(provider, config, id, key))
      return [provider, id]
    })
    return Object.fromEntries(await Promise.all(seeded))
  })
}

async function makeChannel(
  db: Database,
  key: Buffer,
  channel: { accountId: string; provider: ProviderName; name: string; config: object },
): Promise<string> {
  const { config, ...fields } = channel
  const { provider } = fields
  const id = uuidv7()
  const { onUncertain } = providers[provider]
  await createChannel(db, { ...fields, id, onUncertain, ...seal(provider, config, id, key) })
  return id
}

function seal(provider: ProviderName, config: object, channelId: string, key: Buffer) {
  const rules = providers[provider]
  const parsed = rules.config.parse(config)
  return {
    sealedConfig: sealConfig(parsed, channelId, key),
    shownConfig: shownConfig(parsed as object),
    expectsReceipts: expectsReceipts(rules.receipts, parsed),
  }
}

async function withDatabase<Result>(
  environment: Record<string, string>,
  work: (db: Database, settings: Pick<Settings, 'CREDENTIALS_KEY' | 'API_KEY_PEPPER'>) => Promise<Result>,
): Promise<Result> {
  const settings = readSettings(['DATABASE_URL', 'CREDENTIALS_KEY', 'API_KEY_PEPPER'], environment)
  const db = connectDatabase(settings.DATABASE_URL, {
    poolSize: 1,
    queryTimeoutMs: 10_000,
    onConnectionLost: () => {},
  })
  return await work(db, settings).finally(() => db.$client.end())
}

/** curl commands to paste into a terminal: one for the sandbox, and one for each provider. */
export function curlsFor(apiUrl: string, { apiKey, channelId }: Seed, channels: EmulatedChannels): string {
  const curlTo = (provider: ProviderName, id: string) => curl(apiUrl, apiKey, bodyFor(provider, id))
  const emulated = Object.entries(channels) as [EmulatedProvider, string][]
  return [
    curlTo('sandbox', channelId).join(' \\\n  '),
    'Or through a provider, to an emulator (docs/reference/providers.md#emulators):',
    emulated.map(([provider, id]) => `# ${provider}\n${curlTo(provider, id).join(' ')}`).join('\n'),
  ].join('\n\n')
}

function curl(apiUrl: string, apiKey: string, body: object): string[] {
  return [
    `curl -sS ${apiUrl}/v1/messages`,
    `-H 'Authorization: Bearer ${apiKey}'`,
    `-H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(body)}'`,
  ]
}

function bodyFor(provider: ProviderName, channelId: string): object {
  const { contactTypes } = providers[provider]
  const [type = defaultContactType] = contactTypes
  const { example } = contactKinds[type]
  return {
    channelId,
    contact: { value: example, ...(type !== defaultContactType && { type }), name: 'Ann Example' },
    message: { type: 'text', text: { value: 'Hello Ann' } },
  }
}
