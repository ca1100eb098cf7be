import { setTimeout as sleep } from 'node:timers/promises'
import { Webhook } from 'standardwebhooks'
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest'
import { disableEndpoint, rotateSecret } from '../../db/callbacks/endpoints.ts'
import { mintWebhookSecret } from '../../src/core/callback.ts'
import { longestPutOffMs } from '../../src/core/callback-job.ts'
import { sealConfig } from '../../src/core/sealed-config.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint, endpointRow } from '../support/endpoints.ts'
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
  // Those of the test before would share the slots.
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
  await service.startWorker(name, { times: { ...soonReconciled, endpointClaimMs, putOffMs: 200 } })
  onTestFinished(async () => {
    // Calls without an answer would be waited for.
    for (const socket of receiver.open) socket.destroy()
    await service.stopWorkers()
  })
}

/** Its workers have one slot for endpoints that answer, and one for the others. */
async function openNarrow(): Promise<TestService> {
  const narrow = await startTestService(
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CALLBACK_CONCURRENCY: '2' },
    service.stores,
  )
  onTestFinished(() => narrow.stop())
  return narrow
}

/** The slot for endpoints that don't answer, until the gate is opened. */
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

test('99 endpoints that never answer take three eighths of the calls, and delay neither another one nor sends', async () => {
  await startWorker('isolating')
  const good = await endpointAt(acceptCall)
  await accept(service, account, textBody())
  await delivered(good, 1)

  const before = receiver.calls.length
  for (let count = 0; count < silent; count += ofAccount) {
    const other = await buildAccount(service)
    for (let of = count; of < Math.min(silent, count + ofAccount); of++) await endpointAt(neverAnswer, other)
    for (let send = 0; send < 3; send++) await accept(service, other, textBody())
  }
  const { pathname: goodPath } = new URL((await endpointRow(service, good)).url)
  const toSilent = () => receiver.calls.slice(before).filter(({ path }) => path !== goodPath)
  await eventually('silent ones are called', async () => toSilent().length === concurrency * 0.375)
  for (let send = 0; send < 20; send++) await accept(service, account, textBody())
  await delivered(good, 21)
  expect(toSilent()).toHaveLength(concurrency * 0.375)
  expect(new Set(toSilent().map(({ path }) => path)).size).toBe(concurrency * 0.375)
})

test('a new endpoint is called at once, however many that have failed never answer', async () => {
  await startWorker('calling a new one')
  let hanging = 0
  const hang: Behaviour = () => void hanging++
  for (let count = 0; count < concurrency; count += ofAccount) {
    const other = await buildAccount(service)
    for (let of = 0; of < ofAccount; of++) await endpointAt(firstly(answer(503), hang), other)
    await accept(service, other, textBody())
  }
  await eventually('those that have failed hang', async () => hanging === concurrency * 0.375)

  const fresh = await endpointAt(acceptCall)
  await accept(service, account, textBody())
  // Within less than a time-out.
  await delivered(fresh, 1)
  expect(hanging).toBe(concurrency * 0.375)
})

test('many new endpoints that answer share few slots, and none waits until it was put off', async () => {
  const narrow = await openNarrow()
  const longMs = 600_000
  await narrow.startWorker('with a slot for new ones', {
    times: { ...neverReconciled, putOffMs: longMs },
  })
  const endpoints = await Promise.all(Array.from({ length: ofAccount }, () => endpointAt(acceptCall)))
  await accept(narrow, account, textBody())
  for (const endpoint of endpoints) await delivered(endpoint, 1)
})

test('an endpoint without a slot has one wake-up, later than it is due; a new callback leaves it as it is, a slot removes it', async () => {
  const narrow = await openNarrow()
  await narrow.startWorker('without a slot for it', {
    times: { ...soonReconciled, putOffMs: longestPutOffMs },
  })
  const slow = await takeSlot(narrow)

  const other = await endpointAt(acceptCall)
  const wakeUp = async () => {
    const job = await narrow.runtime.callbacks.getJob(other.endpointId)
    return job?.name === 'put-off' && { dueAt: job.timestamp + job.delay, addedAt: job.timestamp }
  }
  await accept(narrow, account, textBody())
  const first = await eventually('the wake-up', wakeUp)
  expect(first.dueAt - first.addedAt).toBe(longestPutOffMs)
  await accept(narrow, account, textBody())
  await eventually('both', async () => (await callbacksOf(narrow, other)).length === 2)
  // Some passes of the reconciler.
  await sleep(5 * reconcileEveryMs)
  expect(await wakeUp()).toEqual(first)

  slow.open()
  await delivered(other, 2)
  await eventually('no wake-up', async () => !(await wakeUp()), 3000)
})

test('an endpoint in line of a worker is called by another one that has a slot, although it is put off', async () => {
  const narrow = await openNarrow()
  const times = { ...soonReconciled, putOffMs: longestPutOffMs }
  await narrow.startWorker('whose slot is taken', { times })
  const slow = await takeSlot(narrow)
  const other = await endpointAt(acceptCall)
  await accept(narrow, account, textBody())
  const wakeUp = async () => (await narrow.runtime.callbacks.getJob(other.endpointId))?.name
  await eventually('it is put off', async () => (await wakeUp()) === 'put-off')
  await narrow.startWorker('with a slot', { times })
  await eventually('the call', async () => (await callbacksOf(narrow, other))[0]?.finishedAt, 5000)
  await eventually('it is put off no more', async () => (await wakeUp()) === undefined, 2000)
  slow.open()
})

test('an endpoint counts as answering from its first 2xx on, although new ones take the slot of that call', async () => {
  const narrow = await openNarrow()
  await narrow.startWorker('with a slot of each kind', {
    times: { ...neverReconciled, putOffMs: 600_000 },
  })
  const [first, slow] = [gate(), gate()]
  const endpoint = await endpointAt(firstly(first.behaviour, acceptCall))
  const other = await buildAccount(narrow)
  const hanging = await endpointAt(slow.behaviour, other)
  for (let send = 0; send < 4; send++) await accept(narrow, account, textBody())
  await eventually('its first call', async () => first.waiting === 1)
  await accept(narrow, other, textBody())
  await eventually('the other one is left', async () =>
    Boolean(await narrow.runtime.callbacks.getJob(hanging.endpointId)),
  )
  first.open()
  await delivered(endpoint, 4)
  await eventually('the other one has the slot', async () => slow.waiting === 1)
  slow.open()
})

test('a worker without a free slot leaves its endpoints to others', async () => {
  const settings = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CALLBACK_CONCURRENCY: '2' }
  const narrow = await startTestService(settings, service.stores)
  onTestFinished(() => narrow.stop())
  const times = { ...soonReconciled, endpointClaimMs: 50, putOffMs: 200 }
  const slow = gate()
  const holder = await buildAccount(narrow)
  const [holding, other] = [
    await endpointAt(firstly(acceptCall, slow.behaviour), holder),
    await endpointAt(acceptCall),
  ]
  await narrow.startWorker('full', { times })
  for (const each of [holder, account]) await accept(narrow, each, textBody())
  for (const endpoint of [holding, other]) await delivered(endpoint, 1)
  await accept(narrow, holder, textBody())
  await eventually('the slot is taken', async () => slow.waiting === 1)
  await accept(narrow, account, textBody())
  await narrow.startWorker('idle', { times })
  await delivered(other, 2)
  // The slot is still taken.
  expect((await callbacksOf(narrow, holding)).at(-1)?.tries).toEqual([])
  slow.open()
})

test('an endpoint that waited long for a slot is called as it is by then: with its new secret, or not if it is disabled', async () => {
  const narrow = await startTestService(
    { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CALLBACK_CONCURRENCY: '2' },
    service.stores,
  )
  const endpointClaimMs = 50
  await narrow.startWorker('with one slot', { times: { ...soonReconciled, endpointClaimMs } })
  onTestFinished(() => narrow.stop())
  const slow = gate()
  const holder = await buildAccount(narrow)
  const holding = await endpointAt(firstly(acceptCall, slow.behaviour), holder)
  const [rotated, disabled] = [await endpointAt(acceptCall), await endpointAt(acceptCall)]
  for (const each of [holder, account]) await accept(narrow, each, textBody())
  for (const endpoint of [holding, rotated, disabled]) await delivered(endpoint, 1)

  await accept(narrow, holder, textBody())
  await eventually('the slot is taken', async () => slow.waiting === 1)
  await accept(narrow, account, textBody())
  await eventually('the others wait for it', async () => {
    const rows = await Promise.all([rotated, disabled].map((endpoint) => endpointRow(narrow, endpoint)))
    return rows.every(({ claimId }) => claimId !== null)
  })
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
