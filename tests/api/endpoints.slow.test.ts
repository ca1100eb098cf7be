import { sql } from 'drizzle-orm'
import { beforeEach, expect, test } from 'vitest'
import { createEndpoint } from '../../db/callbacks/endpoints.ts'
import { eventTypes } from '../../src/core/callbacks/callback.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { absentId } from '../support/absent-id.ts'
import { allPages, ask } from '../support/account-routes.ts'
import type { Answer } from '../support/answer.ts'
import { accept, buildAccount, buildKey, post, textBody } from '../support/builders.ts'
import { runCliWith } from '../support/cli.ts'
import { buildEndpoint, callbacksOf, endpointRow } from '../support/endpoints.ts'
import { expectError } from '../support/expect-error.ts'
import { rawRequest } from '../support/raw-http.ts'
import { serviceOfFile } from '../support/service.ts'
import { newKey } from './keyed.ts'

const service = await serviceOfFile({
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
})
const url = 'https://example.com/callbacks'

async function buildManager(options: Parameters<typeof buildAccount>[1] = {}) {
  return await buildAccount(service, { permissions: ['messages:send', 'endpoints:manage'], ...options })
}

let account: Awaited<ReturnType<typeof buildManager>>
beforeEach(async () => {
  account = await buildManager()
})

const create = (body: unknown, headers: Record<string, string> = {}, by = account) =>
  ask(service, by, 'POST', '/v1/endpoints', body, headers)
const read = (endpointId: string) => ask(service, account, 'GET', `/v1/endpoints/${endpointId}`)
const patch = (endpointId: string, body: unknown) =>
  ask(service, account, 'PATCH', `/v1/endpoints/${endpointId}`, body)
const listed = () => allPages(service, account, '/v1/endpoints', 'endpoints', 3)

async function created(body: object = { url }) {
  const { status, body: endpoint } = await create(body)
  expect(status).toBe(201)
  return endpoint as { endpointId: string; secret: string }
}

const cli = (...args: string[]) =>
  runCliWith(
    service,
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' },
    ...args,
  )

test('an endpoint is created with a secret that no other answer, and no log line, has', async () => {
  const { status, headers, body } = await create({ url, events: ['message.failed', 'message.failed'] })
  expect(status).toBe(201)
  expect(body).toStrictEqual({
    requestId: headers.get('X-Request-Id'),
    endpointId: expect.any(String),
    secret: expect.stringMatching(/^whsec_[\w+/]{43}=$/),
  })
  const shown = {
    endpointId: body.endpointId,
    url,
    events: ['message.failed'],
    createdAt: expect.any(String),
    disabledAt: null,
    disabledReason: null,
    failingSince: null,
    answeredAt: null,
    breakerOpenUntil: null,
    waiting: 0,
  }
  expect((await read(body.endpointId)).body).toStrictEqual({ requestId: expect.any(String), ...shown })
  expect(await listed()).toStrictEqual([shown])
  const { stdout } = await cli('endpoint', 'list', '--account', account.accountId)
  expect(JSON.parse(stdout)).toEqual({ endpoints: [shown] })
  expect((await endpointRow(service, body)).sealedSecret).not.toContain(body.secret.slice(6, 20))
  expect(JSON.stringify(service.logs)).not.toContain(body.secret.slice(6, 20))
})

test.each<[object, null | string[]]>([
  [{ url }, null],
  [{ url, events: null }, null],
  [{ url, events: ['message.read', 'message.sent'] }, ['message.read', 'message.sent']],
])('created as %j, it takes the events %j', async (body, events) => {
  const { endpointId } = await created(body)
  expect((await read(endpointId)).body.events).toEqual(events)
})

const words: [name: string, body: Record<string, unknown>, options: string[]][] = [
  ['plain http', { url: 'http://93.184.216.34/x' }, ['--url', 'http://93.184.216.34/x']],
  ['a private address', { url: 'https://10.0.0.1/x' }, ['--url', 'https://10.0.0.1/x']],
  [
    'a mapped private address',
    { url: 'https://[::ffff:169.254.169.254]/' },
    ['--url', 'https://[::ffff:169.254.169.254]/'],
  ],
  ['a password', { url: 'https://u:p@example.com' }, ['--url', 'https://u:p@example.com']],
  ['a fragment', { url: `${url}#x` }, ['--url', `${url}#x`]],
  ['no URL', { url: 'example.com' }, ['--url', 'example.com']],
  ['white space', { url: `${url}/a b` }, ['--url', `${url}/a b`]],
  ['a long URL', { url: `${url}/${'a'.repeat(2048)}` }, ['--url', `${url}/${'a'.repeat(2048)}`]],
  [
    'an unknown event',
    { url, events: ['message.sent', 'sent'] },
    ['--url', url, '--events', 'message.sent,sent'],
  ],
]

/** The CLI's words after the option, and a 400's after the field. */
const afterField = (text: string) => text.trim().replace(/^(?:Fix --)?[\w[\]]+: /, '')

test.each(words)(
  '%s is refused by create, update and the CLI with the same words',
  async (_name, body, options) => {
    const { endpointId } = await created()
    const refused = await create(body)
    expectError(refused, 400, /^(?:url|events\[1\]): /)
    const changed = await patch(endpointId, body)
    expectError(changed, 400, refused.body.message)
    for (const command of [
      ['create', '--account', account.accountId],
      ['update', endpointId],
    ]) {
      const { status, stderr } = await cli('endpoint', ...command, ...options)
      expect(status).toBe(64)
      expect(afterField(stderr)).toBe(afterField(refused.body.message))
    }
    expect(await listed()).toMatchObject([{ endpointId, url, events: null }])
  },
)

test('nothing to change is refused by the route and the CLI with the same words', async () => {
  const { endpointId } = await created()
  const words = 'give url or events, or both'
  for (const body of [{}, { url: null }]) expectError(await patch(endpointId, body), 400, `body: ${words}`)
  expect((await cli('endpoint', 'update', endpointId)).stderr.trim()).toBe(`Fix the options: ${words}`)
})

test('the eleventh endpoint is refused by the route and the CLI with the same words, also of those created at once', async () => {
  // They take turns, so the last of them may be too late on a busy machine: a 503 changed nothing.
  const createInTime = async (): Promise<Answer> => {
    const answer = await create({ url })
    return answer.status === 503 ? createInTime() : answer
  }
  const answers = await Promise.all(Array.from({ length: 12 }, createInTime))
  const statuses = answers.map(({ status }) => status).sort()
  expect(statuses).toEqual([...Array(10).fill(201), 400, 400])
  const words = 'The account already has the maximum of 10 endpoints. Delete one first.'
  for (const answer of answers.filter(({ status }) => status === 400)) expectError(answer, 400, words)
  const { stderr } = await cli('endpoint', 'create', '--account', account.accountId, '--url', url)
  expect(stderr).toContain(words)
  expect(await listed()).toHaveLength(10)
  const [{ endpointId }] = await listed()
  await ask(service, account, 'DELETE', `/v1/endpoints/${endpointId}`)
  expect((await create({ url })).status).toBe(201)
})

test.each<[unknown, string | RegExp]>([
  ['{', 'body: not valid JSON'],
  ['', 'body: is empty; send a JSON object'],
  [' ', 'body: is empty; send a JSON object'],
  ['null', 'body: has to be an object, not null'],
  ['[]', 'body: has to be an object'],
  ['"x"', 'body: has to be an object'],
  ['{}', 'url: required'],
  ['{"url":null}', 'url: has to be a string, not null'],
  ['{"url":7}', 'url: has to be a string'],
  ['{"url":["https://example.com"]}', 'url: has to be a string'],
  [`{"url":"${url}","secret":"mine"}`, 'secret: unknown field'],
  [`{"url":"${url}","__proto__":{"a":1}}`, '__proto__: unknown field'],
  [`{"url":"${url}\\u0000"}`, /^url: /],
  [`{"url":"${url}\\ud800"}`, /^url: /],
  [`{"url":"${url}","events":[]}`, 'events: name one at least; null is for all about sends'],
  [`{"url":"${url}","events":"all"}`, 'events: has to be an array'],
  [`{"url":"${url}","events":["endpoint.test"]}`, `events[0]: has to be one of ${eventTypes.join(', ')}`],
  [`{"url":"${url}","events":[null]}`, /^events\[0\]: /],
  [`{"url":"${url}","events":${'['.repeat(40)}${']'.repeat(40)}}`, /^(?:events\[0\]|body): /],
])('the body %s is refused: %s', async (body, message) => {
  expectError(await create(body), 400, message)
  expect(await listed()).toEqual([])
})

test('a body that is too large, compressed, or no JSON by its type is refused', async () => {
  expectError(await create(`{"url":"${'a'.repeat(200_000)}"}`), 400, 'body: more than 131072 bytes')
  expectError(await create({ url }, { 'Content-Type': 'text/plain' }), 400, /^Content-Type: /)
  expectError(await create({ url }, { 'Content-Encoding': 'gzip' }), 400, /^Content-Encoding: /)
  const chunked = await rawRequest(service, {
    method: 'POST',
    path: '/v1/endpoints',
    headers: { Authorization: `Bearer ${account.apiKey}`, 'Content-Type': 'application/json' },
    chunks: ['{"url":"', 'a'.repeat(200_000), '"}'],
  })
  expectError(chunked, 400, 'body: more than 131072 bytes')
})

test('url and events are changed, each on its own, also back to all', async () => {
  const { endpointId } = await created({ url, events: ['message.sent'] })
  await service.runtime.db.execute(sql`update endpoints set answered_at = now() where id = ${endpointId}`)
  const { status, body } = await patch(endpointId, { events: ['message.read', 'message.failed'] })
  expect(status).toBe(200)
  expect(body).toMatchObject({ endpointId, url, events: ['message.read', 'message.failed'] })
  expect(body.answeredAt).not.toBeNull()
  expect((await patch(endpointId, { events: null })).body.events).toBeNull()
  // Nothing is known of another URL.
  const moved = await patch(endpointId, { url: `${url}/2` })
  expect(moved.body).toMatchObject({ url: `${url}/2`, events: null, answeredAt: null })
})

test('lists come by pages, oldest first', async () => {
  const ids: string[] = []
  for (let n = 0; n < 7; n++) ids.push((await created()).endpointId)
  expect((await listed()).map(({ endpointId }) => endpointId)).toEqual(ids)
})

test('those that wait are counted, to a number that takes no time', async () => {
  const { endpointId } = await created()
  await service.runtime.db.execute(sql`
    insert into callbacks (endpoint_id, request_id, sequence, type)
    select ${endpointId}, gen_random_uuid(), 1, 'message.sent' from generate_series(1, 10050)`)
  expect((await read(endpointId)).body.waiting).toBe(10_000)
  const { stdout } = await cli('endpoint', 'list', '--account', account.accountId)
  expect(JSON.parse(stdout).endpoints[0].waiting).toBe(10_050)
})

test('deleted, it is gone with its callbacks', async () => {
  const endpoint = await created()
  await accept(service, account, textBody())
  await service.runtime.db.execute(sql`
    insert into callbacks (endpoint_id, request_id, sequence, type) values (${endpoint.endpointId}, ${newId()}, 1, 'message.sent')`)
  const path = `/v1/endpoints/${endpoint.endpointId}`
  const { status, body, headers } = await ask(service, account, 'DELETE', path)
  expect([status, body]).toEqual([204, undefined])
  expect(headers.get('X-Request-Id')).toBeTruthy()
  expect(await callbacksOf(service, endpoint)).toEqual([])
  expectError(await ask(service, account, 'DELETE', path), 404, 'Endpoint not found')
  expectError(await read(endpoint.endpointId), 404, 'Endpoint not found')
})

test('a repeat by its Idempotency-Key has the same id and no secret, and does not count', async () => {
  account = await buildManager({ rateLimit: { points: 5, seconds: 60 } })
  const headers = { 'Idempotency-Key': newKey() }
  const first = await create({ url, events: ['message.sent', 'message.read'] }, headers)
  const again = await create({ events: ['message.sent', 'message.read'], url }, headers)
  expect(again.status).toBe(201)
  const { requestId, endpointId } = first.body
  expect(again.body).toStrictEqual({ requestId, endpointId })
  expect(again.headers.get('Idempotent-Replayed')).toBe('true')
  expect(again.headers.get('X-Request-Id')).toBe(requestId)
  expect(again.headers.get('RateLimit')).toMatch(/r=4;/)
  expect(first.headers.get('Idempotent-Replayed')).toBeNull()
  expect(await listed()).toHaveLength(1)
})

test('the same Idempotency-Key for another body, or for a send, is a 422 that names the first request', async () => {
  const headers = { 'Idempotency-Key': newKey() }
  const { requestId } = (await create({ url }, headers)).body
  const named = new RegExp(`was used for another request, ${requestId};`)
  expectError(await create({ url: `${url}/2` }, headers), 422, named)
  expectError(await create({ url, events: ['message.sent'] }, headers), 422, named)
  expectError(await post(service, account, textBody(), headers), 422, named)
  const ofSend = { 'Idempotency-Key': newKey() }
  const sent = await post(service, account, textBody(), ofSend)
  expectError(await create({ url }, ofSend), 422, new RegExp(sent.body.requestId))
  expect(await listed()).toHaveLength(1)
})

test('of creates at once with one Idempotency-Key one is made, and the others repeat it, also where it is the last that fits', async () => {
  for (let n = 0; n < 9; n++) await created()
  const headers = { 'Idempotency-Key': newKey() }
  const answers: Answer[] = await Promise.all(Array.from({ length: 8 }, () => create({ url }, headers)))
  expect(answers.map(({ status }) => status)).toEqual(Array(8).fill(201))
  expect(new Set(answers.map(({ body }) => body.endpointId)).size).toBe(1)
  expect(answers.filter(({ body }) => body.secret !== undefined)).toHaveLength(1)
  expect(answers.filter(({ headers }) => headers.get('Idempotent-Replayed') === 'true')).toHaveLength(7)
  expect(await listed()).toHaveLength(10)
})

test('a key of another account, one that has expired, and that of a refused create are free', async () => {
  const key = newKey()
  const headers = { 'Idempotency-Key': key }
  const theirs = await create({ url }, headers, await buildManager())
  for (let n = 0; n < 10; n++) await created()
  expectError(await create({ url }, headers), 400, /maximum of 10 endpoints/)
  const [{ endpointId }] = await listed()
  await ask(service, account, 'DELETE', `/v1/endpoints/${endpointId}`)
  const mine = await create({ url }, headers)
  expect(mine.body.secret).toBeTruthy()
  expect(mine.body.endpointId).not.toBe(theirs.body.endpointId)
  await service.runtime.db.execute(sql`
    update idempotency_keys set created_at = now() - interval '25 hours' where request_id = ${mine.body.requestId}`)
  await ask(service, account, 'DELETE', `/v1/endpoints/${mine.body.endpointId}`)
  expect((await create({ url }, headers)).body.secret).toBeTruthy()
})

test('an Idempotency-Key that is none is refused', async () => {
  expectError(await create({ url }, { 'Idempotency-Key': '"' }), 400, /^Idempotency-Key: /)
  expectError(await create({ url }, { 'Idempotency-Key': 'a'.repeat(256) }), 400, /^Idempotency-Key: /)
})

test('what is too late to be committed is a 503, and created no endpoint', async () => {
  const endpoint = { id: newId(), accountId: account.accountId, url, events: null, sealedSecret: '' }
  const tooLate = createEndpoint(service.runtime.db, endpoint, { recordBy: new Date(Date.now() - 1000) })
  await expect(tooLate).rejects.toThrow()
  expect(await listed()).toEqual([])
})

const routes: [method: string, path: string, body?: object][] = [
  ['GET', ''],
  ['POST', '', { url }],
  ['GET', '/:id'],
  ['PATCH', '/:id', { url: `${url}/theirs` }],
  ['DELETE', '/:id'],
  ['POST', '/:id/enable'],
  ['POST', '/:id/disable'],
  ['POST', '/:id/test'],
  ['POST', '/:id/rotate-secret', { overlapSeconds: 0 }],
  ['POST', '/:id/resend', { since: '1h' }],
  ['GET', '/:id/callbacks'],
]
const at = (path: string, id: string) => `/v1/endpoints${path.replace(':id', id)}`

/** All that there is of endpoints and callbacks. */
async function everything() {
  const { rows } = await service.runtime.db.execute(
    sql`select json_agg(e order by e.id) as endpoints, (select json_agg(c) from callbacks c) as callbacks from endpoints e`,
  )
  return rows
}

test.each(routes)(
  '%s %s is for a key that may manage endpoints, and no other',
  async (method, path, body) => {
    const { endpointId } = await created()
    const before = await everything()
    const others = await buildKey(service, account.accountId, {
      permissions: ['messages:send', 'messages:read'],
    })
    const forbidden = await ask(service, others, method, at(path, endpointId), body)
    expectError(forbidden, 403, 'This API key lacks the permission endpoints:manage.')
    const permissions = ['endpoints:manage' as const]
    const revoked = await buildKey(service, account.accountId, { permissions, revoked: true })
    expectError(await ask(service, revoked, method, at(path, endpointId), body), 401)
    expectError(await ask(service, { apiKey: 'omk_x' }, method, at(path, endpointId), body), 401)
    expect(await everything()).toEqual(before)
  },
)

test.each(routes.filter(([, path]) => path !== ''))(
  '%s %s of another account answers as of an absent endpoint, and changes nothing',
  async (method, path, body) => {
    const foreign = await buildManager()
    const theirs = await buildEndpoint(service, foreign.accountId, url)
    await service.runtime.db.execute(sql`
      insert into callbacks (endpoint_id, request_id, sequence, type, finished_at, given_up)
      values (${theirs.endpointId}, ${newId()}, 1, 'message.sent', now(), true)`)
    const before = await everything()
    for (const id of [absentId, theirs.endpointId, theirs.endpointId.toUpperCase(), 'x', '%00'])
      expectError(await ask(service, account, method, at(path, id), body), 404, 'Endpoint not found')
    expect(await everything()).toEqual(before)
  },
)

test.each(routes.filter(([, , body]) => body))(
  '%s %s checks the body before it tells whether the endpoint is there',
  async (method, path) => {
    expectError(
      await ask(service, account, method, at(path, absentId), { unknown: 1 }),
      400,
      /unknown: unknown field/,
    )
  },
)

test.each(routes)('%s %s counts for the rate limit of the account', async (method, path, body) => {
  account = await buildManager({ rateLimit: { points: 1, seconds: 60 } })
  const { endpointId } = await buildEndpoint(service, account.accountId, url)
  await ask(service, account, 'GET', '/v1/flows')
  const before = await everything()
  const over = await ask(service, account, method, at(path, endpointId), body)
  expectError(over, 429)
  expect(over.headers.get('RateLimit')).toMatch(/r=0;/)
  expect(await everything()).toEqual(before)
})

test('an account that has endpoints accepts sends as before, and its keys of before manage none', async () => {
  await created()
  const old = await buildAccount(service)
  expectError(await ask(service, old, 'GET', '/v1/endpoints'), 403)
  expect((await post(service, account, textBody())).status).toBe(202)
})
