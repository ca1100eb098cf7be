import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startWebhookEmulator, type WebhookEmulator } from '../../../src/providers/webhook/dev/emulator.ts'

let emulator: WebhookEmulator
let url: string
let webhook: Webhook
beforeAll(async () => {
  emulator = await startWebhookEmulator()
  url = String(emulator.config.url)
  webhook = new Webhook(String(emulator.config.secret))
})
afterAll(() => emulator.stop())

const payload = () => ({
  requestId: uuidv7(),
  channelId: uuidv7(),
  contact: { type: 'phone', value: '+4915112345678' },
  message: { type: 'text', text: { value: 'Grüße 👋' } },
  flowId: null,
  conversationId: uuidv7(),
})

interface Changes {
  /** In place of the body that was signed. */
  body?: string
  signedAt?: Date
  headers?: Record<string, string>
}

async function post(signed: { requestId: string }, { body, signedAt = new Date(), headers }: Changes = {}) {
  const text = JSON.stringify(signed)
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'webhook-id': signed.requestId,
      'webhook-timestamp': String(Math.floor(signedAt.getTime() / 1000)),
      'webhook-signature': webhook.sign(signed.requestId, signedAt, text),
      ...headers,
    },
    body: body ?? text,
  })
  return { status: response.status, answer: (await response.json()) as { id?: string; error?: string } }
}

const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000)

test('a signed, well-formed message is accepted, and answered with an id', async () => {
  const message = payload()
  expect(await post(message)).toEqual({ status: 200, answer: { id: expect.stringMatching(/./) } })
  expect(emulator.taken.get(message.requestId)).toEqual(message)
})

test('a repeat gets the same answer, is recorded as a call and not accepted again', async () => {
  const message = payload()
  const before = emulator.taken.size
  expect(await post(message)).toEqual(await post(message))
  expect(emulator.calls.filter(({ headers }) => headers['webhook-id'] === message.requestId)).toHaveLength(2)
  expect(emulator.taken.size).toBe(before + 1)
})

describe('it accepts nothing, and says why, where', () => {
  const { requestId, ...withoutId } = payload()
  test.each<[string, { requestId: string }, Changes, number, RegExp]>([
    ['the body was altered', payload(), { body: JSON.stringify(payload()) }, 401, /signature/],
    ['the id was altered', payload(), { headers: { 'webhook-id': uuidv7() } }, 401, /signature/],
    ['another secret signed', payload(), { headers: { 'webhook-signature': 'v1,AAAA' } }, 401, /signature/],
    ['nothing is signed', payload(), { headers: { 'webhook-signature': '' } }, 401, /Missing/],
    ['the timestamp is stale', payload(), { signedAt: minutesFromNow(-6) }, 401, /too old/],
    ['the timestamp is of the future', payload(), { signedAt: minutesFromNow(6) }, 401, /too new/],
    ['it is a form', payload(), { headers: { 'content-type': 'text/plain' } }, 415, /json/],
    ['a field is unknown', { ...payload(), text: 'Hello' } as never, {}, 400, /text/],
    [
      'a field of the message is',
      { ...payload(), message: { type: 'text', text: { value: '', html: '' } } } as never,
      {},
      400,
      /html/,
    ],
    ['a field is missing', { requestId, contact: withoutId.contact } as never, {}, 400, /channelId/],
    [
      'the media has no content',
      { ...payload(), message: { type: 'media', media: { mediaType: 'image' } } } as never,
      {},
      400,
      /content/,
    ],
  ])('%s', async (_, signed, changes, status, error) => {
    const before = emulator.taken.size
    expect(await post(signed, changes)).toEqual({ status, answer: { error: expect.stringMatching(error) } })
    expect(emulator.taken.size).toBe(before)
  })

  test('the webhook-id is not the requestId', async () => {
    const signedAt = new Date()
    const body = JSON.stringify(payload())
    const id = uuidv7()
    const headers = { 'webhook-signature': webhook.sign(id, signedAt, body) }
    expect(await post({ requestId: id }, { body, signedAt, headers })).toMatchObject({ status: 400 })
  })
})

test('it gives the configured answers, once each, and accepts nothing then', async () => {
  emulator.answerNext(
    { status: 503, body: '{}' },
    { status: 429, headers: { 'retry-after': '2' }, body: '{}' },
  )
  const message = payload()
  expect((await post(message)).status).toBe(503)
  expect((await post(message)).status).toBe(429)
  expect(emulator.taken.has(message.requestId)).toBe(false)
  expect((await post(message)).status).toBe(200)
})

test('configured to drop the connection, it has recorded the message', async () => {
  emulator.answerNext('drop')
  const message = payload()
  await expect(post(message)).rejects.toThrow()
  expect(emulator.taken.has(message.requestId)).toBe(true)
})

test('configured to hang, it can still be stopped', async () => {
  const other = await startWebhookEmulator()
  other.answerNext('never_answer')
  const call = fetch(String(other.config.url), { method: 'POST' })
  await expect.poll(() => other.calls.length).toBe(1)
  const [{ status }] = await Promise.allSettled([call, other.stop()])
  expect(status).toBe('rejected')
})
