import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { disableEndpoint, rotateSecret } from '../../db/callbacks/endpoints.ts'
import { mintWebhookSecret } from '../../src/core/callbacks/callback.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint, endpointRow } from '../support/endpoints.ts'
import { neverReconciled, soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as acceptCall,
  type Behaviour,
  firstly,
  gate,
  openWebhookReceiver,
  type WebhookReceiver,
} from '../support/webhook-receiver.ts'

const concurrency = 64
const silent = 99
/** The most that an account may have. */
const ofAccount = 10
const { reconcileEveryMs = 0 } = soonReconciled

let service: TestService
let receiver: WebhookReceiver
let account: Account

beforeAll(async () => {
  receiver = await openWebhookReceiver()
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_CONCURRENCY: String(concurrency),
    CALLBACK_TIMEOUT_SECONDS: '25',
    CALLBACK_RETRY_DELAYS_SECONDS: '1,60',
  })
})
afterAll(async () => {
  // Their calls would be waited for.
  await receiver.stop()
  await service.stop()
})
beforeEach(async () => {
  // Endpoints of the test before would share the slots.
  await service.runtime.db.$client.query('update endpoints set disabled_at = now()')
  account = await buildAccount(service)
})

const endpointAt = (behaviour: Behaviour, of = account) =>
  buildEndpoint(service, of.accountId, receiver.at(behaviour))
const delivered = (endpoint: Endpoint, count: number) =>
  eventually(`${count} callbacks`, async () => {
    const all = await callbacksOf(service, endpoint)
    return all.length === count && all.every(({ finishedAt }) => finishedAt !== null)
  })

/** Its claims end soon, so that those with a slow call are longer. */
const startWorker = async (name: string, endpointClaimMs = 50) => {
  await service.startWorker(name, { times: { ...soonReconciled, endpointClaimMs } })
  onTestFinished(async () => {
    // Calls without an answer would be waited for.
    for (const socket of receiver.open) socket.destroy()
    await service.stopWorkers()
  })
}

/** Its workers have two slots, one of them for endpoints in slow start. */
async function openNarrow(): Promise<TestService> {
  const narrow = await startTestService(
    {
      ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
      CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
      CALLBACK_CONCURRENCY: '2',
    },
    service.stores,
  )
  onTestFinished(() => narrow.stop())
  return narrow
}

/** The slot for endpoints in slow start, until the gate is opened. */
async function takeSlot(narrow: TestService) {
  const slow = gate()
  const holder = await buildAccount(narrow)
  await endpointAt(slow.behaviour, holder)
  await accept(narrow, holder, textBody())
  await eventually('the slot is taken', async () => slow.waiting === 1)
  return slow
}

test.each([
  { when: 'soon after they began', endpointClaimMs: 50 },
  { when: 'sooner than PostgreSQL answers', endpointClaimMs: 0.2 },
])('slow calls of one send don’t delay those of others, if claims end $when', async ({ endpointClaimMs }) => {
  await startWorker(`with claims of ${endpointClaimMs} ms`, endpointClaimMs)
  let calls = 0
  const slow = gate()
  const endpoint = await endpointAt((request, response) =>
    (calls++ === 1 ? slow.behaviour : acceptCall)(request, response),
  )
  await accept(service, account, textBody())
  await delivered(endpoint, 1)
  const slowId = await accept(service, account, textBody())
  await eventually('the slow one is called', async () => calls === 2)
  for (let send = 0; send < 10; send++) await accept(service, account, textBody())
  await eventually('the others', async () => {
    const all = await callbacksOf(service, endpoint)
    const waiting = all.filter(({ finishedAt }) => finishedAt === null)
    return all.length === 12 && waiting.length === 1 && waiting[0]?.requestId === slowId
  })
  slow.open()
  await delivered(endpoint, 12)
})

test('99 endpoints that never answer take half of the calls, and delay neither another one nor sends', async () => {
  await startWorker('isolating')
  const good = await endpointAt(acceptCall)
  await accept(service, account, textBody())
  await delivered(good, 1)

  /** The calls that hang, and the most at a time: in all, and of one endpoint. */
  const hanging: symbol[] = []
  const most = { ofAll: 0, ofOne: 0 }
  const hang = (): Behaviour => {
    const endpoint = Symbol('endpoint')
    return (_request, response) => {
      hanging.push(endpoint)
      most.ofAll = Math.max(most.ofAll, hanging.length)
      most.ofOne = Math.max(most.ofOne, hanging.filter((other) => other === endpoint).length)
      response.on('close', () => hanging.splice(hanging.indexOf(endpoint), 1))
    }
  }
  for (let count = 0; count < silent; count += ofAccount) {
    const other = await buildAccount(service)
    for (let of = count; of < Math.min(silent, count + ofAccount); of++) await endpointAt(hang(), other)
    for (let send = 0; send < 3; send++) await accept(service, other, textBody())
  }
  await eventually('half of the calls hang', async () => hanging.length === concurrency / 2)
  for (let send = 0; send < 20; send++) await accept(service, account, textBody())
  await delivered(good, 21)
  expect(most).toEqual({ ofAll: concurrency / 2, ofOne: 1 })
})

test('of the endpoints in slow start, new ones are called first, and those that have failed for the longest time last', async () => {
  const narrow = await openNarrow()
  await narrow.startWorker('with a slot for those in slow start', { times: neverReconciled })
  const slow = await takeSlot(narrow)
  const order: string[] = []
  const endpointNamed = (name: string) =>
    endpointAt((request, response) => {
      order.push(name)
      return acceptCall(request, response)
    })
  const waitsInSlowStart = ({ endpointId }: Endpoint) =>
    eventually('a wake-up', async () => Boolean(await narrow.runtime.slowStarts.getJob(endpointId)))
  const endpoints: Endpoint[] = []
  for (const [name, failingFor] of [
    ['longest', '90 days'],
    ['long', '1 hour'],
    ['short', '1 minute'],
    ['new', null],
  ] as const) {
    account = await buildAccount(narrow)
    const endpoint = await endpointNamed(name)
    endpoints.push(endpoint)
    const since = 'update endpoints set failing_since = now() - $2::interval where id = $1'
    if (failingFor) await narrow.runtime.db.$client.query(since, [endpoint.endpointId, failingFor])
    await accept(narrow, account, textBody())
    await waitsInSlowStart(endpoint)
  }
  slow.open()
  for (const endpoint of endpoints) await delivered(endpoint, 1)
  expect(order).toEqual(['new', 'short', 'long', 'longest'])
})

test('many new endpoints that answer share one slot', async () => {
  const narrow = await openNarrow()
  await narrow.startWorker('with a slot for new ones', { times: neverReconciled })
  const endpoints = await Promise.all(Array.from({ length: ofAccount }, () => endpointAt(acceptCall)))
  await accept(narrow, account, textBody())
  for (const endpoint of endpoints) await delivered(endpoint, 1)
})

test('an endpoint that waits for a slot of those in slow start has one wake-up, however many callbacks it gets; a worker with a free slot takes it', async () => {
  const narrow = await openNarrow()
  const times = { ...soonReconciled, overdueByMs: 0 }
  await narrow.startWorker('whose slot is taken', { times })
  const slow = await takeSlot(narrow)
  const other = await endpointAt(acceptCall)
  const wakeUps = () =>
    Promise.all(
      [narrow.runtime.callbacks, narrow.runtime.slowStarts].map(async (queue) =>
        Boolean(await queue.getJob(other.endpointId)),
      ),
    )
  await accept(narrow, account, textBody())
  await eventually('it waits', async () => (await wakeUps())[1])
  await accept(narrow, account, textBody())
  await eventually('both', async () => (await callbacksOf(narrow, other)).length === 2)
  // Some passes of the reconciler.
  await sleep(5 * reconcileEveryMs)
  expect(await wakeUps()).toEqual([false, true])
  expect((await callbacksOf(narrow, other)).map(({ tries }) => tries)).toEqual([[], []])

  await narrow.startWorker('with a slot', { times })
  await delivered(other, 2)
  slow.open()
})

test('an endpoint has left slow start with its first 2xx, although others take the slot of that call', async () => {
  const narrow = await openNarrow()
  await narrow.startWorker('with a slot of each kind', { times: neverReconciled })
  const first = gate()
  const endpoint = await endpointAt(firstly(first.behaviour, acceptCall))
  for (let send = 0; send < 4; send++) await accept(narrow, account, textBody())
  await eventually('its first call', async () => first.waiting === 1)
  const slow = gate()
  const other = await buildAccount(narrow)
  await endpointAt(slow.behaviour, other)
  await accept(narrow, other, textBody())
  first.open()
  await delivered(endpoint, 4)
  await eventually('the other one has the slot', async () => slow.waiting === 1)
  slow.open()
})

test('a worker without a free slot leaves its endpoints to others', async () => {
  const settings = {
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_CONCURRENCY: '2',
  }
  const narrow = await startTestService(settings, service.stores)
  onTestFinished(() => narrow.stop())
  const times = { ...soonReconciled, endpointClaimMs: 50 }
  const slow = gate()
  const holder = await buildAccount(narrow)
  const [holding, other] = [
    await endpointAt(firstly(acceptCall, slow.behaviour), holder),
    await endpointAt(acceptCall),
  ]
  await narrow.startWorker('full', { times })
  for (const each of [holder, account]) await accept(narrow, each, textBody())
  for (const endpoint of [holding, other]) await delivered(endpoint, 1)
  for (let send = 0; send < 2; send++) await accept(narrow, holder, textBody())
  await eventually('both slots are taken', async () => slow.waiting === 2)
  await accept(narrow, account, textBody())
  await narrow.startWorker('idle', { times })
  await delivered(other, 2)
  // The slots are still taken.
  expect((await callbacksOf(narrow, holding)).filter(({ finishedAt }) => finishedAt === null)).toHaveLength(2)
  slow.open()
})

test('an endpoint that waited long for a slot is called as it is by then: with its new secret, or not if it is disabled', async () => {
  const narrow = await startTestService(
    {
      ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
      CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
      CALLBACK_CONCURRENCY: '2',
    },
    service.stores,
  )
  const endpointClaimMs = 50
  await narrow.startWorker('with two slots', { times: { ...soonReconciled, endpointClaimMs } })
  onTestFinished(() => narrow.stop())
  const slow = gate()
  const holder = await buildAccount(narrow)
  const holding = await endpointAt(firstly(acceptCall, slow.behaviour), holder)
  const [rotated, disabled] = [await endpointAt(acceptCall), await endpointAt(acceptCall)]
  for (const each of [holder, account]) await accept(narrow, each, textBody())
  for (const endpoint of [holding, rotated, disabled]) await delivered(endpoint, 1)

  for (let send = 0; send < 2; send++) await accept(narrow, holder, textBody())
  await eventually('both slots are taken', async () => slow.waiting === 2)
  await accept(narrow, account, textBody())
  await eventually('the others wait for it', async () => (await callbacksOf(narrow, rotated)).length === 2)
  const { db, settings } = narrow.runtime
  const secret = mintWebhookSecret()
  const id = rotated.endpointId
  await rotateSecret(db, {
    ...{ id, sealedSecret: sealConfig({ secret }, id, settings.CREDENTIALS_KEY), overlapSeconds: 0 },
  })
  await disableEndpoint(db, disabled.endpointId, 'by an operator')
  // Until what they read is out of date.
  await sleep(10 * endpointClaimMs)
  slow.open()
  await delivered(rotated, 2)
  const callsOf = async (endpoint: Endpoint) => {
    const { pathname } = new URL((await endpointRow(narrow, endpoint)).url)
    return receiver.calls.filter(({ path }) => path === pathname)
  }
  const call = (await callsOf(rotated)).at(-1)
  expect(() =>
    new Webhook(secret).verify(call?.body ?? '', call?.headers as Record<string, string>),
  ).not.toThrow()
  expect(await callsOf(disabled)).toHaveLength(1)
})
