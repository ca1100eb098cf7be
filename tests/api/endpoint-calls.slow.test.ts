import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { pageOfCallbacks } from '../../db/callbacks/callback-pages.ts'
import { newId } from '../../src/core/requests/new-id.ts'
import { allPages, ask } from '../support/account-routes.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { callbacksOf } from '../support/endpoints.ts'
import { expectError } from '../support/expect-error.ts'
import { neverReconciled, serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  answer,
  neverAnswer,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

const service = await serviceOfFile({
  ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
  CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
  CALLBACK_RETRY_DELAYS_SECONDS: '0',
})
let receiver: WebhookReceiver
let account: Account
beforeAll(async () => {
  receiver = await openWebhookReceiver()
})
afterAll(() => receiver.stop())
beforeEach(async () => {
  account = await buildAccount(service, {
    permissions: ['messages:send', 'messages:read', 'endpoints:manage'],
  })
})

type Created = { endpointId: string; secret: string }

async function create(url: string, events: string[] | null = null): Promise<Created> {
  const { status, body } = await ask(service, account, 'POST', '/v1/endpoints', { url, events })
  expect(status).toBe(201)
  return body
}
const call = (endpointId: string, verb: string, body?: unknown) =>
  ask(service, account, 'POST', `/v1/endpoints/${endpointId}/${verb}`, body)
const list = (endpointId: string, query = '', limit = 100) =>
  allPages(service, account, `/v1/endpoints/${endpointId}/callbacks${query}`, 'callbacks', limit)

/** The CLI's words after the option, and a 400's after the field. */
const afterField = (text: string) => text.trim().replace(/^(?:Fix --)?[\w[\]]+: /, '')

async function words(verb: string, faulty: object, ...args: string[]): Promise<void> {
  const { endpointId } = await create('https://example.com/callbacks')
  const refused = await call(endpointId, verb, faulty)
  expectError(refused, 400)
  const { status, stderr } = await runCli(service, ...args.map((arg) => arg.replace('ID', endpointId)))
  expect(status).toBe(64)
  expect(afterField(stderr)).toBe(afterField(refused.body.message))
}

test.each<[string, object, string[]]>([
  ['rotate-secret', { overlapSeconds: 691_200 }, ['endpoint', 'rotate-secret', 'ID', '--overlap', '8d']],
  ['resend', { since: 'yesterday' }, ['callback', 'resend', '--endpoint', 'ID', '--since', 'yesterday']],
  [
    'resend',
    { since: '2026-11-21T14:00:00' },
    ['callback', 'resend', '--endpoint', 'ID', '--since', '2026-11-21T14:00:00'],
  ],
  [
    'resend',
    { since: '1h', only: 'failed' },
    ['callback', 'resend', '--endpoint', 'ID', '--since', '1h', '--only', 'failed'],
  ],
])('%s of %j is refused by the route and the CLI with the same words', async (verb, faulty, args) => {
  await words(verb, faulty, ...args)
})

test('a test of a disabled endpoint is refused by the route and the CLI with the same words', async () => {
  const { endpointId } = await create('https://example.com/callbacks')
  expect((await call(endpointId, 'disable')).body).toMatchObject({
    endpointId,
    disabledAt: expect.any(String),
    disabledReason: 'by its account',
  })
  const refused = await call(endpointId, 'test')
  expectError(refused, 400, 'The endpoint is disabled (by its account): enable it first')
  const { stderr } = await runCli(service, 'endpoint', 'test', endpointId)
  expect(stderr).toContain(refused.body.message)
  expect(await list(endpointId)).toEqual([])
})

test.each<[string, unknown, RegExp]>([
  ['rotate-secret', { overlapSeconds: -1 }, /^overlapSeconds: has to be a whole number of seconds/],
  ['rotate-secret', { overlapSeconds: 1.5 }, /^overlapSeconds: has to be a whole number of seconds/],
  ['rotate-secret', { overlapSeconds: '1' }, /^overlapSeconds: has to be/],
  ['rotate-secret', { overlap: 1 }, /^overlap: unknown field/],
  ['rotate-secret', '{', /^body: not valid JSON/],
  ['resend', undefined, /^Content-Type: |^body: /],
  ['resend', {}, /^since: required/],
  ['resend', { since: null }, /^since: /],
  ['resend', { since: 1 }, /^since: /],
  ['enable', { a: 1 }, /^a: unknown field/],
  ['enable', '[]', /^body: /],
  ['test', 'null', /^body: /],
])('%s with %j is a 400', async (verb, body, message) => {
  const { endpointId } = await create('https://example.com/callbacks')
  expectError(await call(endpointId, verb, body), 400, message)
})

test('callbacks are listed newest first, by pages, each exactly once, and by their state', async () => {
  const { endpointId } = await create('https://example.com/callbacks')
  const other = await create('https://example.com/callbacks')
  const { $client } = service.runtime.db
  const ids = Array.from({ length: 9 }, () => newId())
  // Each has two changes of the same moment; the second half was delivered.
  await $client.query(
    `insert into callbacks (endpoint_id, request_id, sequence, type, created_at, finished_at, given_up)
     select e, id, s, 'message.sent', date_trunc('second', now()) - n % 4 * interval '1 microsecond',
            case when n > 3 then now() end, n > 6
     from unnest($1::uuid[]) with ordinality ids (id, n), generate_series(1, 2) s, unnest($2::uuid[]) e`,
    [ids, [endpointId, other.endpointId]],
  )
  const all = await list(endpointId)
  expect(all).toHaveLength(18)
  expect(all[0]).toStrictEqual({
    webhookId: `${all[0].requestId}-${all[0].sequence}`,
    requestId: expect.any(String),
    sequence: expect.any(Number),
    type: 'message.sent',
    at: expect.any(String),
    state: expect.stringMatching(/^waiting|delivered|given_up$/),
    tries: [],
    nextTryAt: all[0].state === 'waiting' ? expect.any(String) : null,
  })
  const { rows } = await $client.query(
    `select request_id || '-' || sequence as id from callbacks where endpoint_id = $1
     order by created_at desc, request_id desc, sequence desc`,
    [endpointId],
  )
  const idsOf = (callbacks: { webhookId: string }[]) => callbacks.map(({ webhookId }) => webhookId)
  const newestFirst = rows.map(({ id }) => id)
  for (const limit of [1, 5, 18, 100]) expect(idsOf(await list(endpointId, '', limit))).toEqual(newestFirst)
  for (const [state, count] of [
    ['waiting', 6],
    ['delivered', 6],
    ['given_up', 6],
  ] as const) {
    const found = await list(endpointId, `?state=${state}`, 2)
    expect(found).toHaveLength(count)
    expect(idsOf(found)).toEqual(idsOf(all.filter((callback) => callback.state === state)))
  }
  // A page that has looked at its limit goes on where it stopped.
  const found: string[] = []
  for (let after: Parameters<typeof pageOfCallbacks>[2]['after'], pages = 0; pages < 20; pages++) {
    const page = await pageOfCallbacks(
      service.runtime.db,
      endpointId,
      { limit: 5, after, state: 'given_up' },
      3,
    )
    found.push(...page.items.map(({ requestId, sequence }) => `${requestId}-${sequence}`))
    after = page.next
    if (!after) break
  }
  expect(found).toEqual(idsOf(all.filter(({ state }) => state === 'given_up')))
})

test('the list of callbacks names each parameter that it can’t take, also the place of another list', async () => {
  const { endpointId } = await create('https://example.com/callbacks')
  await create('https://example.com/callbacks')
  const get = (query: string) =>
    ask(service, account, 'GET', `/v1/endpoints/${endpointId}/callbacks?${query}`)
  expectError(await get('state=failed'), 400, 'state: has to be one of waiting, delivered, given_up')
  expectError(await get('state=waiting&state=waiting'), 400, 'state: given more than once')
  expectError(await get('type=message.sent'), 400, 'type: unknown parameter')
  expectError(await get('limit=101'), 400, /^limit: /)
  const { body } = await ask(service, account, 'GET', '/v1/endpoints?limit=1')
  expectError(await get(`after=${body.next}`), 400, 'after: has to be the `next` of a page')
})

describe('with a worker that is woken only', () => {
  beforeEach(async () => {
    const worker = await service.startWorker('calling', { times: neverReconciled })
    return () => worker.stop()
  })

  test('a test shows what the endpoint answers, whatever types it takes, and is among its callbacks', async () => {
    const good = await create(receiver.at(acceptCall), ['message.failed'])
    const { status, body } = await call(good.endpointId, 'test', {})
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      requestId: expect.any(String),
      webhookId: `${body.requestId}-0`,
      at: expect.any(String),
      status: 200,
      reason: null,
      durationMs: expect.any(Number),
    })
    const [called] = receiver.callsOf(body.webhookId)
    expect(JSON.parse(called?.body ?? '')).toMatchObject({
      type: 'endpoint.test',
      data: { endpointId: good.endpointId },
    })
    await eventually('its end', async () => (await list(good.endpointId))[0].state === 'delivered')
    const { requestId: _, webhookId, ...first } = body
    expect(await list(good.endpointId)).toMatchObject([
      { webhookId, type: 'endpoint.test', sequence: 0, tries: [first], nextTryAt: null },
    ])
    const bad = await create(receiver.at(answer(404)))
    expect((await call(bad.endpointId, 'test')).body).toMatchObject({ status: 404 })
  })

  test('many tests of one account at once are made in turn, and none of them is lost', async () => {
    const { endpointId } = await create(receiver.at(acceptCall))
    const answers = await Promise.all(Array.from({ length: 6 }, () => call(endpointId, 'test')))
    for (const { status } of answers) expect([200, 503]).toContain(status)
    expect(answers.some(({ status }) => status === 200)).toBe(true)
  })

  test('after a rotation both secrets sign until the overlap ends', async () => {
    const { endpointId, secret } = await create(receiver.at(acceptCall))
    const before = Date.now()
    const { status, body } = await call(endpointId, 'rotate-secret')
    expect(status).toBe(200)
    expect(body).toStrictEqual({
      requestId: expect.any(String),
      endpointId,
      secret: expect.stringMatching(/^whsec_/),
      bothSignUntil: expect.any(String),
    })
    expect(Math.abs(Date.parse(body.bothSignUntil) - before - 86_400_000)).toBeLessThan(60_000)
    const verified = async (by: string) => {
      const { body: tested } = await call(endpointId, 'test')
      const [called] = receiver.callsOf(tested.webhookId)
      return () => new Webhook(by).verify(called?.body ?? '', called?.headers as Record<string, string>)
    }
    for (const each of [secret, body.secret]) expect(await verified(each)).not.toThrow()
    const { body: last } = await call(endpointId, 'rotate-secret', { overlapSeconds: 0 })
    expect(await verified(last.secret)).not.toThrow()
    expect(await verified(body.secret)).toThrow()
    for (const hidden of [secret, body.secret, last.secret])
      expect(JSON.stringify(service.logs)).not.toContain(hidden.slice(6, 20))
  })

  test('disabled, an endpoint keeps its callbacks, and gets them at once when it is enabled', async () => {
    const endpoint = await create(receiver.at(acceptCall))
    await call(endpoint.endpointId, 'disable')
    const requestId = await accept(service, account, textBody())
    await eventually('it is kept', async () => (await callbacksOf(service, endpoint)).length === 1)
    await sleep(300)
    expect(receiver.callsOf(`${requestId}-1`)).toEqual([])
    expect(await list(endpoint.endpointId)).toMatchObject([{ state: 'waiting', tries: [] }])
    const { status, body } = await call(endpoint.endpointId, 'enable')
    expect([status, body.disabledAt]).toEqual([200, null])
    await eventually('its call', async () => receiver.callsOf(`${requestId}-1`).length === 1)
  })

  test('callbacks are sent again: all since a time, or those that were given up', async () => {
    let code = 500
    const { endpointId } = await create(receiver.at((request, response) => answer(code)(request, response)))
    const ended = (count: number) =>
      eventually('all to end', async () => {
        const all = await list(endpointId)
        return all.length === count && all.every(({ state }) => state !== 'waiting') && all
      })
    const first = await accept(service, account, textBody())
    await ended(1)
    code = 200
    const second = await accept(service, account, textBody())
    const all = await ended(2)
    expect(all.map(({ requestId, state, tries }) => [requestId, state, tries.length])).toEqual([
      [second, 'delivered', 1],
      [first, 'given_up', 2],
    ])
    const calls = (id: string) => receiver.callsOf(`${id}-1`).length
    const { body } = await call(endpointId, 'resend', { since: '1h', only: 'given-up' })
    expect(body).toStrictEqual({ requestId: expect.any(String), resent: 1 })
    await eventually('the first again', async () => calls(first) === 3)
    await ended(2)
    const since = new Date(Date.now() - 600_000).toISOString()
    expect((await call(endpointId, 'resend', { since })).body.resent).toBe(2)
    await eventually('both again', async () => calls(first) === 4 && calls(second) === 2)
    expect((await call(endpointId, 'resend', { since: '2100-01-01T00:00:00Z' })).body.resent).toBe(0)
    for (const far of ['999999d', '0000-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59'])
      expect((await call(endpointId, 'resend', { since: far, only: 'given-up' })).status).toBe(200)
  })

  test('an endpoint that is deleted while it is tested is a 404', async () => {
    const { endpointId } = await create(receiver.at(neverAnswer))
    const tested = call(endpointId, 'test')
    await eventually('the test', async () => (await list(endpointId)).length === 1)
    await ask(service, account, 'DELETE', `/v1/endpoints/${endpointId}`)
    expectError(await tested, 404, 'Endpoint not found')
  })
})
