import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { claimEndpoints } from '../../db/callbacks/endpoint-claims.ts'
import { addTest } from '../../db/callbacks/endpoint-tests.ts'
import { disableEndpoint, enableEndpoint, updateEndpoint } from '../../db/callbacks/endpoints.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { lapse, sweepOnce } from '../support/attempts.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint, endpointRow } from '../support/endpoints.ts'
import { cancel, inSeconds } from '../support/later.ts'
import { livingWorker } from '../support/living-worker.ts'
import { faultBy } from '../support/openapi.ts'
import { neverReconciled, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  answer,
  type Behaviour,
  firstly,
  gate,
  neverAnswer,
  openWebhookReceiver,
  type WebhookCall,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

let service: TestService
let receiver: WebhookReceiver
let account: Account

beforeAll(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_RETRY_DELAYS_SECONDS: '0,0',
    CALLBACK_TIMEOUT_SECONDS: '3',
  })
  receiver = await openWebhookReceiver()
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})
beforeEach(async () => {
  account = await buildAccount(service)
})

const times = { ...soonReconciled, failingForMs: 600_000 }
const startWorker = (name?: string) => service.startWorker(name, { times })

const endpointAt = (behaviour: Behaviour) => buildEndpoint(service, account.accountId, receiver.at(behaviour))

async function callsAt(endpoint: Endpoint, count: number): Promise<WebhookCall[]> {
  const { pathname } = new URL((await endpointRow(service, endpoint)).url)
  const calls = () => receiver.calls.filter(({ path }) => path === pathname)
  return await eventually(`${count} calls`, async () => calls().length >= count && calls())
}

/** The signature as the specification of Standard Webhooks has it, without its library. */
async function isSignedBySpecification({ headers, body }: WebhookCall, secret: string): Promise<boolean> {
  const bytes = Buffer.from(secret.slice('whsec_'.length), 'base64')
  const algorithm = { name: 'HMAC', hash: 'SHA-256' }
  const key = await crypto.subtle.importKey('raw', bytes, algorithm, false, ['verify'])
  const signed = Buffer.from(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`)
  const signatures = `${headers['webhook-signature']}`.split(' ').filter((one) => one.startsWith('v1,'))
  const checks = signatures.map((one) =>
    crypto.subtle.verify('HMAC', key, Buffer.from(one.slice(3), 'base64'), signed),
  )
  const age = Math.abs(Date.now() / 1000 - Number(headers['webhook-timestamp']))
  return age < 300 && (await Promise.all(checks)).includes(true)
}

const dataOf = ({ body }: WebhookCall) => JSON.parse(body)
const allFinished = (endpoint: Endpoint) =>
  eventually('all callbacks to end', async () => {
    const all = await callbacksOf(service, endpoint)
    return all.length > 0 && all.every(({ finishedAt }) => finishedAt !== null) && all
  })

test('a claim that takes longer than it may last still calls', async () => {
  const worker = await service.startWorker('with short claims', { times: { ...times, endpointClaimMs: 0.2 } })
  try {
    const endpoint = await endpointAt(acceptCall)
    for (let send = 0; send < 5; send++) await accept(service, account, textBody())
    await callsAt(endpoint, 5)
  } finally {
    await worker.stop()
  }
})

test('a new callback doesn’t wait for a slow call of its endpoint', async () => {
  const longMs = 600_000
  const worker = await service.startWorker('looking while it calls', {
    times: { ...neverReconciled, endpointClaimMs: longMs },
  })
  const slow = gate()
  const endpoint = await endpointAt(firstly(acceptCall, firstly(slow.behaviour, acceptCall)))
  await accept(service, account, textBody())
  await allFinished(endpoint)
  const slowId = await accept(service, account, textBody())
  await eventually('the slow call', async () => slow.waiting === 1)
  for (let send = 0; send < 5; send++) await accept(service, account, textBody())
  await eventually('the others', async () => {
    const waiting = (await callbacksOf(service, endpoint)).filter(({ finishedAt }) => finishedAt === null)
    return waiting.length === 1 && waiting[0]?.requestId === slowId && slow.waiting === 1
  })
  slow.open()
  await allFinished(endpoint)
  await worker.stop()
})

describe('an endpoint', () => {
  beforeEach(async () => {
    const worker = await startWorker()
    return () => worker.stop()
  })

  test('is told what becomes of a send: signed, without contact and content', async () => {
    const endpoint = await endpointAt(acceptCall)
    const content = textBody('Some content', '+4915155512345')
    const requestId = await accept(service, account, { ...content, reference: 'order 7' })
    const [call] = await callsAt(endpoint, 1)
    if (!call) throw new Error('no call')
    new Webhook(endpoint.secret).verify(call.body, call.headers as Record<string, string>)
    expect(await isSignedBySpecification(call, endpoint.secret)).toBe(true)
    expect(await isSignedBySpecification({ ...call, body: `${call.body} ` }, endpoint.secret)).toBe(false)
    expect(call.headers['webhook-id']).toBe(`${requestId}-1`)
    const body = dataOf(call)
    expect(body).toEqual({
      type: 'message.sent',
      timestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      data: {
        requestId,
        reference: 'order 7',
        metadata: null,
        sequence: 1,
        status: 'sent',
        delivery: null,
        channelId: account.channelId,
        messageType: 'text',
        priority: 'normal',
        segments: 1,
        encoding: 'gsm-7',
        flowId: null,
        conversationId: expect.any(String),
        attempts: 1,
        providerAt: null,
        providerCode: null,
      },
    })
    expect(call.body).not.toMatch(/Some content|15155512345/)
    const [callback] = await allFinished(endpoint)
    expect(callback).toMatchObject({ tried: 1, givenUp: false, tries: [{ status: 200, reason: null }] })
  })

  test('gets bodies as the OpenAPI document has them, of changes and of a test', async () => {
    const endpoint = await endpointAt(acceptCall)
    await accept(service, account, textBody('Hello', '+15550100107'))
    await addTest(service.runtime.db, endpoint.endpointId, uuidv7())
    const bodies = (await callsAt(endpoint, 4)).map(dataOf)
    const types = bodies.map(({ type }) => type).sort()
    expect(types).toEqual(['endpoint.test', 'message.delivered', 'message.read', 'message.sent'])
    for (const body of bodies) {
      const schema = body.type === 'endpoint.test' ? 'EndpointTest' : 'SendChange'
      expect(faultBy(schema, body), JSON.stringify(body)).toBeUndefined()
    }
  })

  test('is told in order of a send', async () => {
    const endpoint = await endpointAt(acceptCall)
    const ids = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        accept(service, account, textBody('Hello', `read${n}@example.com`)),
      ),
    )
    expect(ids).toHaveLength(20)
    await callsAt(endpoint, 20)
    const phone = await accept(service, account, textBody('Hello', '+15550100107'))
    const types = await eventually('the last one', async () => {
      const ofPhone = (await callsAt(endpoint, 23)).map(dataOf).filter(({ data }) => data.requestId === phone)
      const told = ofPhone.map(({ type }) => type)
      return told.includes('message.read') && told
    })
    expect(types).toEqual(['message.sent', 'message.delivered', 'message.read'])
  })

  test('is told again after a failure, with the same webhook-id, and the next change only then', async () => {
    const seen: string[] = []
    const endpoint = await endpointAt((request, response) => {
      const id = `${request.headers['webhook-id']}`
      const isFirst = !seen.includes(id)
      seen.push(id)
      return answer(isFirst ? 503 : 204)(request, response)
    })
    const requestId = await accept(service, account, textBody('Hello', '+15550100106'))
    await callsAt(endpoint, 4)
    expect(seen).toEqual([1, 1, 2, 2].map((sequence) => `${requestId}-${sequence}`))
    expect(await allFinished(endpoint)).toMatchObject([
      { tried: 2, tries: [{ status: 503 }, { status: 204 }] },
      { tried: 2, tries: [{ status: 503 }, { status: 204 }] },
    ])
  })

  test('that never takes it is given up, and told the next change', async () => {
    const endpoint = await endpointAt(answer(500))
    const requestId = await accept(service, account, textBody('Hello', '+15550100106'))
    await callsAt(endpoint, 6)
    const ids = (await callsAt(endpoint, 6)).map(({ headers }) => headers['webhook-id'])
    expect(ids).toEqual([1, 1, 1, 2, 2, 2].map((sequence) => `${requestId}-${sequence}`))
    expect(await allFinished(endpoint)).toMatchObject([{ givenUp: true }, { givenUp: true }])
  })

  test('with another URL is not disabled by a 410 of the former one', async () => {
    const slow = gate(answer(410))
    const endpoint = await endpointAt(slow.behaviour)
    await accept(service, account, textBody())
    await eventually('the former URL is called', async () => slow.waiting === 1)
    const url = receiver.at(acceptCall)
    await updateEndpoint(service.runtime.db, endpoint.endpointId, { url })
    slow.open()
    expect(await allFinished(endpoint)).toMatchObject([{ tries: [{ status: 410 }, { status: 200 }] }])
    expect(await endpointRow(service, endpoint)).toMatchObject({ disabledAt: null, failingSince: null })
  })

  test('with another URL counts as new, whatever the former one still answers', async () => {
    const [former, fresh] = [gate(), gate()]
    const endpoint = await endpointAt(former.behaviour)
    await accept(service, account, textBody())
    await eventually('the former URL is called', async () => former.waiting === 1)
    await updateEndpoint(service.runtime.db, endpoint.endpointId, { url: receiver.at(fresh.behaviour) })
    for (let send = 0; send < 4; send++) await accept(service, account, textBody())
    await eventually('all wait', async () => (await callbacksOf(service, endpoint)).length === 5)
    // Until they are read, too.
    await sleep(2 * workerTimes.lookAgainMs)
    former.open()
    await eventually('the new URL is called', async () => fresh.waiting === 1)
    await sleep(2 * workerTimes.lookAgainMs)
    expect(fresh.waiting).toBe(1)
    expect(await endpointRow(service, endpoint)).toMatchObject({ answeredAt: null })
    fresh.open()
    expect(await allFinished(endpoint)).toHaveLength(5)
  })

  test('that redirects is not followed', async () => {
    const elsewhere = receiver.at(acceptCall)
    const endpoint = await endpointAt(answer(307, { location: elsewhere }))
    await accept(service, account, textBody())
    expect(await allFinished(endpoint)).toMatchObject([{ givenUp: true, tries: [{ status: 307 }, {}, {}] }])
    expect(receiver.calls.some(({ path }) => path === new URL(elsewhere).pathname)).toBe(false)
  })

  test('without TLS, at a public address, is not called', async () => {
    const endpoint = await buildEndpoint(service, account.accountId, 'http://93.184.216.34:8080/')
    await accept(service, account, textBody())
    const [callback] = await allFinished(endpoint)
    expect(callback?.tries).toMatchObject(
      [1, 2, 3].map(() => ({ reason: expect.stringContaining('use https') })),
    )
  })

  test('that doesn’t answer in time is tried again', async () => {
    const endpoint = await endpointAt(firstly(neverAnswer, acceptCall))
    await accept(service, account, textBody())
    expect(await allFinished(endpoint)).toMatchObject([
      { tries: [{ status: null, reason: 'no whole answer in time' }, { status: 200 }] },
    ])
  })

  test('that answers 410 is disabled at once, and told everything when it is enabled again', async () => {
    const endpoint = await endpointAt(firstly(answer(410), acceptCall))
    const first = await accept(service, account, textBody())
    await eventually('it is disabled', async () => (await endpointRow(service, endpoint)).disabledAt !== null)
    expect(await endpointRow(service, endpoint)).toMatchObject({
      disabledReason: 'the endpoint answered 410: it wants no more callbacks',
    })
    expect(service.logs.filter(({ event }) => event === 'endpoint_disabled')).toMatchObject([
      { level: 'error', endpointId: endpoint.endpointId },
    ])
    const second = await accept(service, account, textBody())
    await eventually('both', async () => (await callbacksOf(service, endpoint)).length === 2)
    expect(await callsAt(endpoint, 1)).toHaveLength(1)
    await enableEndpoint(service.runtime.db, endpoint.endpointId)
    const calls = await callsAt(endpoint, 3)
    expect(calls.map((call) => dataOf(call).data.requestId)).toEqual([first, first, second])
    expect(await allFinished(endpoint)).toMatchObject([{ tried: 1 }, { tried: 1 }])
  })

  test('whose callback waits for another try goes on at once when it is enabled', async () => {
    const retryAfter = { 'Retry-After': '3600' }
    const endpoint = await endpointAt(firstly(answer(503, retryAfter), acceptCall))
    await accept(service, account, textBody())
    const [waiting] = await eventually('it waits for an hour', async () => {
      const callbacks = await callbacksOf(service, endpoint)
      return callbacks[0]?.tried === 1 && callbacks
    })
    expect(waiting?.nextTryAt.getTime()).toBeGreaterThan(Date.now() + 3_500_000)
    await disableEndpoint(service.runtime.db, endpoint.endpointId, 'by an operator')
    await enableEndpoint(service.runtime.db, endpoint.endpointId)
    expect(await allFinished(endpoint)).toMatchObject([{ tried: 2, givenUp: false }])
  })

  test('whose secret this worker can’t open isn’t called, nor blamed for it', async () => {
    const endpoint = await endpointAt(acceptCall)
    const { sealedSecret } = await endpointRow(service, endpoint)
    const seal = (sealed: string) =>
      service.runtime.db.$client.query('update endpoints set sealed_secret = $2 where id = $1', [
        endpoint.endpointId,
        sealed,
      ])
    await seal(sealConfig({ secret: endpoint.secret }, endpoint.endpointId, randomBytes(32)))
    await accept(service, account, textBody())
    await eventually('a fault', async () =>
      service.logs.some(
        ({ event, endpointId }) => event === 'callback_fault' && endpointId === endpoint.endpointId,
      ),
    )
    expect(await callbacksOf(service, endpoint)).toMatchObject([{ tried: 0, tries: [] }])
    expect(await endpointRow(service, endpoint)).toMatchObject({ failingSince: null })
    await seal(sealedSecret)
    expect(await allFinished(endpoint)).toMatchObject([{ tried: 1, givenUp: false }])
  })

  test('that is disabled gets no call', async () => {
    const endpoint = await endpointAt(acceptCall)
    await disableEndpoint(service.runtime.db, endpoint.endpointId, 'by an operator')
    const other = await endpointAt(acceptCall)
    await accept(service, account, textBody())
    await callsAt(other, 1)
    expect(await callsAt(endpoint, 0)).toEqual([])
    expect(await callbacksOf(service, endpoint)).toMatchObject([{ tried: 0, finishedAt: null }])
  })

  test('with one slow call is told of other sends meanwhile, four at a time', async () => {
    const gates = [gate(), gate(), gate(), gate()]
    let calls = 0
    const endpoint = await endpointAt((request, response) =>
      (calls++ === 0 ? acceptCall : (gates[calls - 2]?.behaviour ?? acceptCall))(request, response),
    )
    await accept(service, account, textBody())
    await callsAt(endpoint, 1)
    for (const one of gates.slice(0, 3)) {
      await accept(service, account, textBody())
      await eventually('it waits', async () => one.waiting === 1)
    }
    await accept(service, account, textBody())
    await eventually('the fourth waits', async () => gates[3]?.waiting === 1)
    await accept(service, account, textBody())
    await eventually('the last is recorded', async () => (await callbacksOf(service, endpoint)).length === 6)
    // Long enough for a worker that looks again five times a second.
    await sleep(1000)
    expect(calls).toBe(5)
    for (const one of gates) one.open()
    await callsAt(endpoint, 6)
    expect(await allFinished(endpoint)).toHaveLength(6)
  })
})

test('wake-ups alone bring a worker to what is new, and to what is tried again', async () => {
  await service.startWorker('not reconciling', { times: { ...times, ...neverReconciled } })
  const endpoint = await endpointAt(firstly(answer(503), acceptCall))
  const first = await accept(service, account, textBody())
  await callsAt(endpoint, 2)
  const second = await accept(service, account, textBody())
  const calls = await callsAt(endpoint, 3)
  expect(calls.map((call) => dataOf(call).data.requestId)).toEqual([first, first, second])
  const canceled = await accept(service, account, { ...textBody(), sendAt: inSeconds(3600), reference: 'r' })
  await cancel(service, account, canceled)
  expect(dataOf((await callsAt(endpoint, 4))[3] as WebhookCall)).toMatchObject({
    type: 'message.canceled',
    data: { requestId: canceled, reference: 'r', status: 'canceled', attempts: 0, conversationId: null },
  })
  await service.stopWorkers()
})

test('an endpoint that keeps failing opens its circuit breaker, and an answer closes it', async () => {
  let isWell = false
  const endpoint = await endpointAt((request, response) =>
    (isWell ? acceptCall : answer(503))(request, response),
  )
  await service.startWorker('impatient', { times: { ...times, failingForMs: 0 } })
  for (let send = 0; send < 3; send++) await accept(service, account, textBody())
  const logged = (event: string) =>
    eventually(event, async () =>
      service.logs.some((line) => line.event === event && line.endpointId === endpoint.endpointId),
    )
  await logged('breaker_opened')
  expect((await endpointRow(service, endpoint)).breakerOpenUntil?.getTime()).toBeGreaterThan(Date.now())
  isWell = true
  await service.runtime.db.$client.query('update endpoints set breaker_open_until = now() where id = $1', [
    endpoint.endpointId,
  ])
  await logged('breaker_closed')
  expect(await endpointRow(service, endpoint)).toMatchObject({ breakerOpenUntil: null, failingSince: null })
  await service.stopWorkers()
})

test('the claim of a worker that died is given up, and its endpoint called', async () => {
  const endpoint = await endpointAt(acceptCall)
  const { endpointId } = endpoint
  await livingWorker(service, 'dying')
  const { db } = service.runtime
  const claim = { endpointId, claimId: uuidv7(), limit: 1, except: [] }
  expect(await claimEndpoints(db, [claim], 'dying')).toHaveLength(1)
  await service.startWorker('living', { times: { ...times, ...neverReconciled } })
  const requestId = await accept(service, account, textBody())
  await eventually('it waits', async () => (await callbacksOf(service, endpoint)).length === 1)
  expect(await callsAt(endpoint, 0)).toEqual([])
  await lapse(service, 'dying')
  await sweepOnce(service)
  const [call] = await callsAt(endpoint, 1)
  expect(call?.headers['webhook-id']).toBe(`${requestId}-1`)
  await service.stopWorkers()
})

test('a callback outlives Redis and workers that are not there', async () => {
  const endpoint = await endpointAt(acceptCall)
  const requestId = await accept(service, account, textBody())
  const first = await startWorker('one')
  await callsAt(endpoint, 1)
  await first.stop()
  expect(await endpointRow(service, endpoint)).toMatchObject({ claimId: null, worker: null })
  await service.runtime.db.$client.query('update callbacks set finished_at = null where request_id = $1', [
    requestId,
  ])
  await service.runtime.redis.flushdb()
  await startWorker('two')
  const calls = await callsAt(endpoint, 2)
  expect(calls.map(({ headers }) => headers['webhook-id'])).toEqual([`${requestId}-1`, `${requestId}-1`])
  await service.stopWorkers()
})
