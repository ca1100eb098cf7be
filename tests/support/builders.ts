import { v7 as uuidv7 } from 'uuid'
import { createAccount, type RateLimit } from '../../db/accounts/accounts.ts'
import { createApiKey, revokeApiKey } from '../../db/accounts/api-keys.ts'
import { type ChannelFields, createChannel } from '../../db/accounts/channels.ts'
import { createFlow } from '../../db/accounts/flows.ts'
import { mintApiKey, type Permission } from '../../src/core/accounts/api-key.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import type { OnUncertain } from '../../src/core/sends/outcome.ts'
import type { Settings } from '../../src/platform/settings/settings.ts'
import type { Runtime } from '../../src/runtime.ts'
import type { Answer } from './answer.ts'
import { timed } from './standstill.ts'
import { eventually } from './wait.ts'
import { webhookSecret } from './webhook-receiver.ts'

/** Where accounts are made: a test's service, or one whose processes are others. */
export interface Registry {
  runtime: Pick<Runtime, 'db'> & { settings: Pick<Settings, 'API_KEY_PEPPER' | 'CREDENTIALS_KEY'> }
}

/** Where requests go. */
export type Api = { url: string }

export interface Account {
  accountId: string
  apiKey: string
  keyId: string
  channelId: string
  flowId: string
}

/** An account with a key, a sandbox channel and a flow. */
export async function buildAccount(
  service: Registry,
  options: { permissions?: Permission[]; rateLimit?: RateLimit; onUncertain?: OnUncertain } = {},
): Promise<Account> {
  const { db } = service.runtime
  const accountId = await createAccount(db, 'Test', options.rateLimit)
  const { apiKey, keyId } = await buildKey(service, accountId, { permissions: options.permissions })
  const channelId = await buildChannel(service, accountId, options.onUncertain)
  return { accountId, apiKey, keyId, channelId, flowId: await createFlow(db, accountId, 'Test') }
}

export async function buildKey(
  service: Registry,
  accountId: string,
  options: { permissions?: Permission[] | undefined; expiresAt?: Date; revoked?: boolean } = {},
): Promise<{ apiKey: string; keyId: string }> {
  const { db, settings } = service.runtime
  const { apiKey, displayPrefix, hash } = mintApiKey(settings.API_KEY_PEPPER)
  const { permissions = ['messages:send', 'messages:read'], expiresAt } = options
  const expiresInSeconds = expiresAt && (expiresAt.getTime() - Date.now()) / 1000
  const keyId = await createApiKey(db, { accountId, hash, displayPrefix, permissions, expiresInSeconds })
  if (options.revoked) await revokeApiKey(db, keyId)
  return { apiKey, keyId }
}

/** As if its overflow had got answers all the time: its sends can be claimed however many there are. */
export const inAnswer = new Date('2100-01-01')

export async function buildChannel(
  service: Registry,
  accountId: string,
  onUncertain: OnUncertain = 'hold',
): Promise<string> {
  const { db, settings } = service.runtime
  const id = uuidv7()
  const sealedConfig = sealConfig({}, id, settings.CREDENTIALS_KEY)
  const fields = { name: 'Test', sealedConfig, onUncertain, answeredAt: inAnswer }
  await createChannel(db, { id, accountId, provider: 'sandbox', ...fields })
  return id
}

/** @param url where its receiver listens. */
export async function buildWebhookChannel(
  service: Registry,
  accountId: string,
  url: string,
  onUncertain: OnUncertain,
  options: Partial<ChannelFields & { answeredAt: Date }> = {},
): Promise<string> {
  const { db, settings } = service.runtime
  const id = uuidv7()
  const sealedConfig = sealConfig({ url, secret: webhookSecret }, id, settings.CREDENTIALS_KEY)
  const fields = { name: 'Hook', sealedConfig, onUncertain, ...options }
  await createChannel(db, { id, accountId, provider: 'webhook', ...fields })
  return id
}

let contacts = 0

/** A phone number that no other send has. */
export function newContact(): string {
  return `+49151${String(contacts++).padStart(8, '0')}`
}

/** @param contact by default one of its own: sends to one contact wait for each other. */
export function textBody(text = 'Hello', contact = newContact()) {
  const type = contact.includes('@') ? 'email' : 'phone'
  return { contact: { value: contact, type }, message: { type: 'text', text: { value: text } } }
}

/** A body that is the same each time it is built, down to the contact. */
export const sameBody = (text = 'Hello', contact = '+4915112345678') => textBody(text, contact)

/** So soon nothing is a 503 for having waited too long. */
const shortestWaitMs = 500

/** Posts a send that has to be accepted; again where it waited too long, as it may on a slow machine. */
export async function accept(
  service: Api,
  account: Pick<Account, 'apiKey' | 'channelId'>,
  body: object,
): Promise<string> {
  return await eventually('an accept', async () => {
    const { status, body: answer, tookMs } = await timed(() => post(service, account, body))
    const isLate = status === 503 && tookMs > shortestWaitMs
    if (status !== 202 && !isLate) throw new Error(`Not accepted: ${JSON.stringify(answer)}`)
    return status === 202 && answer.requestId
  })
}

/** Posts a send to the channel in the path; a body that is no object goes as it is. */
export async function post(
  service: Api,
  account: Pick<Account, 'apiKey' | 'channelId'>,
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  return await request(service, `/v1/channels/${account.channelId}/messages`, {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json', ...headers },
    body: isRaw(body) ? body : JSON.stringify(body),
  })
}

export async function request(service: Api, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(service.url + path, init)
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: text === '' ? undefined : JSON.parse(text),
  }
}

function isRaw(body: unknown): body is string | Uint8Array {
  return typeof body === 'string' || body instanceof Uint8Array
}
