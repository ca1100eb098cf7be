import { eq } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { deleteChannel } from '../../db/accounts/deleted-channels.ts'
import { setTemplate } from '../../db/accounts/templates.ts'
import { channels } from '../../db/schema.ts'
import { addSuppression } from '../../db/suppression/entries.ts'
import type { Priority } from '../../src/core/sends/priority.ts'
import { absentId } from '../support/absent-id.ts'
import { accept, buildAccount, buildKey, newContact, post, request, textBody } from '../support/builders.ts'
import { dryRun, kept } from '../support/dry-runs.ts'
import { expectError, requestIdForm } from '../support/expect-error.ts'
import { buildChain } from '../support/fallbacks.ts'
import { inSeconds } from '../support/later.ts'
import { samples } from '../support/media-samples.ts'
import { serviceOfFile, testSuppressionKey } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile()
const { db } = service.runtime

const suppress = (accountId: string, value: string, channelId: string | null = null) =>
  addSuppression(db, { accountId, contact: { type: 'phone', value }, channelId }, null, testSuppressionKey)

const set = (channelId: string, fields: Partial<typeof channels.$inferInsert>) =>
  db.update(channels).set(fields).where(eq(channels.id, channelId))

const free = { wouldSend: true, reason: null, waitsFor: [], fallbacks: [], suppressed: false }

test('a message that nothing keeps would be sent now', async () => {
  const account = await buildAccount(service)
  const before = Date.now()
  const { status, body, headers } = await dryRun(service, account, textBody())
  expect(status).toBe(200)
  expect(body).toStrictEqual({
    ...free,
    requestId: expect.stringMatching(requestIdForm),
    dueAt: expect.any(String),
    channelId: account.channelId,
    ...{ segments: 1, encoding: 'gsm-7', email: null },
  })
  expect(headers.get('X-Request-Id')).toBe(body.requestId)
  expect(Math.abs(Date.parse(body.dueAt) - before)).toBeLessThan(60_000)
})

test('both routes and a batch take it', async () => {
  const account = await buildAccount(service)
  const inBody = { channelId: account.channelId, ...textBody() }
  const alone = await dryRun(service, account, inBody, {}, '/v1/messages')
  expect([alone.status, alone.body]).toMatchObject([200, free])
  const contact = newContact()
  const messages = [
    textBody('One', contact),
    textBody('Two', contact),
    { ...textBody(), sendAt: inSeconds(60) },
  ]
  const all = messages.map((message) => ({ channelId: account.channelId, ...message }))
  const batch = await dryRun(service, account, { messages: all }, {}, '/v1/messages/batch')
  expect([batch.status, Object.keys(batch.body)]).toEqual([200, ['requestId', 'messages']])
  expect(batch.body.messages).toMatchObject([
    free,
    { wouldSend: true, waitsFor: [{ reason: 'behind', until: null }] },
    { wouldSend: true, waitsFor: [{ reason: 'scheduled' }] },
  ])
})

test('a dry run stores nothing, queues nothing, and uses nothing up but a point of the rate limit', async () => {
  const { account, channels: chain } = await buildChain(service, 3)
  const [first = '', second = ''] = chain
  const suppressed = newContact()
  await suppress(account.accountId, suppressed, first)
  await setTemplate(db, { channelId: first, name: 'welcome', definition: { text: 'Hello {{name}}' } })
  const limited = await buildAccount(service)
  await set(limited.channelId, { rateCalls: 1, rateSeconds: 60, maxInFlight: 1 })
  await dryRun(service, account, textBody())
  const before = await kept(service)
  const template = { name: 'welcome', variables: [{ key: 'name', value: 'Ann' }] }
  const media = { mediaType: 'image', base64: samples.png.toString('base64') }
  const bodies = [
    textBody(),
    textBody('Hello', suppressed),
    { ...textBody(), message: { type: 'template', template } },
    { ...textBody(), message: { type: 'media', media } },
    { ...textBody(), sendAt: inSeconds(3600), expiresInSeconds: 60, metadata: { a: 'b' }, reference: 'r' },
    { ...textBody(), closeConversation: true, flowId: account.flowId, priority: 'urgent' },
  ]
  for (const body of bodies) {
    const answer = await dryRun(service, account, body, { 'Idempotency-Key': 'never-kept' })
    expect([answer.status, answer.body]).toMatchObject([200, { wouldSend: true }])
  }
  expect((await dryRun(service, limited, textBody())).body).toMatchObject({ ...free, wouldSend: true })
  const batch = bodies.map((body) => ({ channelId: second, ...body }))
  const withoutTemplate = batch.filter(({ message }) => message.type !== 'template')
  const path = '/v1/messages/batch'
  expect(await dryRun(service, account, { messages: withoutTemplate }, {}, path)).toMatchObject({
    status: 200,
  })
  expect(await kept(service)).toEqual(before)
})

test('it counts for the rate limit as the send would', async () => {
  const account = await buildAccount(service, { rateLimit: { points: 3, seconds: 60 } })
  const { headers } = await dryRun(service, account, textBody())
  expect(headers.get('RateLimit')).toMatch(/r=2/)
  const one = { channelId: account.channelId, ...textBody() }
  const batch = await dryRun(service, account, { messages: [one, one] }, {}, '/v1/messages/batch')
  expect(batch.headers.get('RateLimit')).toMatch(/r=0/)
  const refused = await dryRun(service, account, textBody())
  expectError(refused, 429)
  expect(refused.headers.get('Error-Code')).toBe('rate_limited')
})

describe('a dry run is refused as the send would be', async () => {
  const account = await buildAccount(service)
  const reader = await buildKey(service, account.accountId, { permissions: ['messages:read'] })
  const deleted = await buildAccount(service)
  await deleteChannel(db, deleted.channelId)
  await setTemplate(db, { channelId: account.channelId, name: 'hi', definition: { text: '{{a}}' } })
  await set(account.channelId, { countries: ['DE'] })
  await accept(service, { ...account }, textBody())
  const used = await post(service, account, textBody(), { 'Idempotency-Key': 'used' })
  expect(used.status).toBe(202)
  const template = { type: 'template', template: { name: 'hi', variables: [] } }
  const cases: [string, typeof account, unknown, Record<string, string>?][] = [
    ['without a key', { ...account, apiKey: 'omk_none' }, textBody()],
    ['without the permission', { ...account, apiKey: reader.apiKey }, textBody()],
    ['with no JSON', account, '{'],
    ['with an unknown field', account, { ...textBody(), closeConversaton: true }],
    ['of an absent channel', { ...account, channelId: absentId }, textBody()],
    ['of a deleted channel', deleted, textBody()],
    ['of a flow that is none', account, { ...textBody(), flowId: absentId }],
    ['to another country', account, textBody('Hello', '+33612345678')],
    ['with a variable missing', account, { ...textBody(), message: template }],
    ['with a time long ago', account, { ...textBody(), sendAt: '2020-01-01T00:00:00Z' }],
    ['with a used key', account, textBody('Other'), { 'Idempotency-Key': 'used' }],
    ['with a key that is none', account, textBody(), { 'Idempotency-Key': '"' }],
    ['with another type of content', account, textBody(), { 'Content-Type': 'text/plain; charset=latin1' }],
  ]
  test.each(cases)('%s', async (_what, own, body, headers) => {
    const real = await post(service, own, body, headers)
    const dry = await dryRun(service, own, body, headers)
    expect(real.status).toBeGreaterThanOrEqual(400)
    expectError(dry, real.status, real.body.message)
    expect(dry.headers.get('Error-Code')).toBe(real.headers.get('Error-Code'))
  })

  test('and so is a batch', async () => {
    const messages = [
      { channelId: absentId, ...textBody() },
      { channelId: account.channelId, ...textBody('') },
    ]
    const headers = { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' }
    const init = { method: 'POST', headers, body: JSON.stringify({ messages }) }
    const real = await request(service, '/v1/messages/batch', init)
    const dry = await request(service, '/v1/messages/batch?dryRun=true', init)
    expectError(dry, real.status, real.body.message)
  })
})

test.each([
  'dryRun=yes',
  'dryRun=',
  'dryRun',
  'dryRun=TRUE',
  'dryrun=true',
  'dry_run=true',
  'dryRun=true&dryRun=false',
])('a dry run that is written as %s sends nothing', async (query) => {
  const account = await buildAccount(service)
  const init = {
    method: 'POST',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    body: JSON.stringify(textBody()),
  }
  const before = await kept(service)
  const answer = await request(service, `/v1/channels/${account.channelId}/messages?${query}`, init)
  expectError(answer, 400, /dryRun/)
  expect(answer.headers.get('Error-Code')).toBe('invalid_query')
  expect(await kept(service)).toEqual(before)
})

test('with dryRun=false, and with parameters that nobody knows, a send is a send', async () => {
  const account = await buildAccount(service)
  for (const query of ['dryRun=false', 'utm=1']) {
    const answer = await request(service, `/v1/channels/${account.channelId}/messages?${query}`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(textBody()),
    })
    expect(answer.status).toBe(202)
  }
})

test('a repeat by its Idempotency-Key would send nothing, and keeps none', async () => {
  const account = await buildAccount(service, { rateLimit: { points: 3, seconds: 60 } })
  const body = textBody()
  const key = { 'Idempotency-Key': 'order-4711' }
  expect((await dryRun(service, account, body, key)).body).toMatchObject({ wouldSend: true })
  const first = await post(service, account, body, key)
  expect(first.status).toBe(202)
  const again = await dryRun(service, account, body, key)
  expect(again.body).toMatchObject({
    ...{ wouldSend: false, dueAt: null, waitsFor: [] },
    reason: `it repeats ${first.body.requestId}, by its Idempotency-Key`,
  })
  expect(again.headers.get('RateLimit')).toMatch(/r=1/)
})

test('what keeps a message is said, the strongest first, and when it ends', async () => {
  const account = await buildAccount(service)
  const until = new Date(Date.now() + 3_600_000)
  await set(account.channelId, { breakerOpenUntil: until })
  expect((await dryRun(service, account, textBody())).body).toMatchObject({
    wouldSend: true,
    waitsFor: [{ reason: 'breaker_open', until: until.toISOString() }],
    dueAt: until.toISOString(),
  })
  await set(account.channelId, { heldAt: new Date(), heldReason: 'x' })
  const held = await dryRun(service, account, textBody())
  expect(held.body.waitsFor).toEqual([
    { reason: 'held', until: null },
    { reason: 'breaker_open', until: until.toISOString() },
  ])
})

test('of a message for later it says the quiet hours of its time, not those of now', async () => {
  const account = await buildAccount(service)
  const hour = 3_600_000
  const clock = (ms: number) => new Date(Date.now() + ms).toISOString().slice(11, 16)
  const own = { byContact: false, zone: 'UTC', priorities: ['normal', 'bulk'] as Priority[] }
  await set(account.channelId, { quietHours: { from: clock(hour), until: clock(3 * hour), ...own } })
  expect((await dryRun(service, account, textBody())).body).toMatchObject(free)
  const sendAt = inSeconds(2 * 3600)
  const { body } = await dryRun(service, account, { ...textBody(), sendAt })
  const [scheduled, quiet] = body.waitsFor
  expect([scheduled, quiet.reason]).toEqual([{ reason: 'scheduled', until: sendAt }, 'quiet_hours'])
  expect(Math.abs(Date.parse(quiet.until) - Date.now() - 3 * hour)).toBeLessThan(3 * 60_000)
  expect(body.dueAt).toBe(quiet.until)
})

test('on a channel with a rate it says when the rate has room, if that is soon', async () => {
  const account = await buildAccount(service)
  await set(account.channelId, { rateCalls: 1, rateSeconds: 60, nextCallAt: new Date(Date.now() + 60_000) })
  expect((await dryRun(service, account, textBody())).body.waitsFor).toEqual([
    { reason: 'waits_for_permit', until: null },
  ])
  const { nextCallAt, body } = await eventually('an answer before that time', async () => {
    const nextCallAt = new Date(Date.now() + 600)
    await set(account.channelId, { nextCallAt })
    const { body } = await dryRun(service, account, textBody())
    return body.waitsFor[0]?.until && { nextCallAt, body }
  })
  expect(body.waitsFor).toEqual([{ reason: 'waits_for_permit', until: body.dueAt }])
  expect(Math.abs(Date.parse(body.dueAt) - nextCallAt.getTime())).toBeLessThan(50)
})

test('a contact that is suppressed gets nothing, or gets it by the fallback if that is for one channel alone', async () => {
  const { account, channels: chain } = await buildChain(service, 3)
  const [first = '', second = '', third] = chain
  const [everywhere, here] = [newContact(), newContact()]
  await suppress(account.accountId, everywhere)
  await suppress(account.accountId, here, first)
  expect((await dryRun(service, account, textBody('Hello', everywhere))).body).toMatchObject({
    ...{ wouldSend: false, reason: expect.stringMatching(/^suppressed/), dueAt: null, suppressed: true },
    ...{ channelId: first, fallbacks: [] },
  })
  expect((await dryRun(service, account, textBody('Hello', here))).body).toMatchObject({
    ...{ wouldSend: true, reason: null, suppressed: true, channelId: second },
    fallbacks: [{ channelId: third, on: ['failed', 'undelivered'], withinSeconds: 3600, issue: null }],
  })
  expect((await dryRun(service, account, textBody())).body.fallbacks).toMatchObject([
    { channelId: second, issue: null },
    { channelId: third, issue: null },
  ])
})

test('a fallback that cannot carry the message says why, and ends the list', async () => {
  const { account, channels: chain } = await buildChain(service, 3)
  const [first = '', second] = chain
  await setTemplate(db, { channelId: first, name: 'code', definition: { text: '{{code}}' } })
  const template = { name: 'code', variables: [{ key: 'code', value: '1' }] }
  const { body } = await dryRun(service, account, { ...textBody(), message: { type: 'template', template } })
  expect(body.fallbacks).toEqual([
    expect.objectContaining({ channelId: second, issue: expect.stringMatching(/no template of this name/) }),
  ])
})

test('a message that expires before it may go would not be sent', async () => {
  const account = await buildAccount(service)
  const until = new Date(Date.now() + 600_000)
  await set(account.channelId, { breakerOpenUntil: until })
  expect((await dryRun(service, account, { ...textBody(), expiresInSeconds: 300 })).body).toMatchObject({
    ...{ wouldSend: false, reason: 'expired', dueAt: null },
    waitsFor: [{ reason: 'breaker_open', until: until.toISOString() }],
  })
  expect((await dryRun(service, account, { ...textBody(), expiresInSeconds: 900 })).body.wouldSend).toBe(true)
  const later = { ...textBody(), sendAt: inSeconds(3600), expiresInSeconds: 60 }
  expect((await dryRun(service, account, later)).body).toMatchObject({ wouldSend: true, dueAt: later.sendAt })
})

test('a mail has its fields, and an SMS its segments', async () => {
  const account = await buildAccount(service)
  const mail = { ...textBody('Hello', 'ann@example.com'), email: { subject: 'Hi', fromName: 'Acme' } }
  expect((await dryRun(service, account, mail)).body).toMatchObject({
    ...{ segments: null, encoding: null, email: { subject: 'Hi', fromName: 'Acme' } },
  })
  const long = textBody('’'.repeat(71))
  expect((await dryRun(service, account, long)).body).toMatchObject({
    segments: 2,
    encoding: 'ucs-2',
    email: null,
  })
})
