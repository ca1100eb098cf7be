import { v7 as uuidv7 } from 'uuid'
import { createAccount } from '../../db/accounts.ts'
import { createApiKey } from '../../db/api-keys.ts'
import { createChannel } from '../../db/channels.ts'
import { connectDatabase } from '../../db/client.ts'
import { mintApiKey } from '../core/api-key.ts'
import { sealConfig } from '../core/sealed-config.ts'
import { readSettings } from '../platform/settings.ts'

/** Something to send with. */
export interface Seed {
  accountId: string
  apiKey: string
  channelId: string
}

/** Makes an account with a key that may do all and a sandbox channel. */
export async function seedDemoAccount(environment: Record<string, string>): Promise<Seed> {
  const settings = readSettings(['DATABASE_URL', 'CREDENTIALS_KEY', 'API_KEY_PEPPER'], environment)
  const db = connectDatabase(settings.DATABASE_URL, {
    poolSize: 1,
    queryTimeoutMs: 10_000,
    onConnectionLost: () => {},
  })
  try {
    const accountId = await createAccount(db, 'Demo')
    const { apiKey, displayPrefix, hash } = mintApiKey(settings.API_KEY_PEPPER)
    await createApiKey(db, {
      accountId,
      hash,
      displayPrefix,
      permissions: ['messages:send', 'messages:read'],
      expiresAt: undefined,
    })
    const channelId = uuidv7()
    const sealedConfig = sealConfig({}, channelId, settings.CREDENTIALS_KEY)
    await createChannel(db, {
      id: channelId,
      accountId,
      provider: 'sandbox',
      name: 'Sandbox',
      sealedConfig,
      onUncertain: 'hold',
    })
    return { accountId, apiKey, channelId }
  } finally {
    await db.$client.end()
  }
}

/** A send to paste into a terminal. */
export function curlFor(apiUrl: string, { apiKey, channelId }: Seed): string {
  const body = {
    channelId,
    contact: { value: '+4915112345678', name: 'Ann Example' },
    message: { type: 'text', text: { value: 'Hello Ann' } },
  }
  return [
    `curl -sS ${apiUrl}/v1/messages`,
    `-H 'Authorization: Bearer ${apiKey}'`,
    `-H 'Content-Type: application/json'`,
    `-d '${JSON.stringify(body)}'`,
  ].join(' \\\n  ')
}
