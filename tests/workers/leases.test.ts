import { eq, sql } from 'drizzle-orm'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { beat, findDeadWorkers, forgetDeadWorkers, retire } from '../../db/delivery/leases.ts'
import { findLostClaims } from '../../db/delivery/lost-claims.ts'
import { sends, workers } from '../../db/schema.ts'
import { createDeliver } from '../../workers/deliver.ts'
import { openProviders, type Senders } from '../../workers/providers/index.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import type { Heartbeat } from '../../workers/upkeep/heartbeat.ts'
import { startSweeps } from '../../workers/upkeep/sweeps.ts'
import {
  beginAttempt,
  endAttempt,
  idleSweeper,
  lapse,
  received,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { livingWorker } from '../support/living-worker.ts'
import { startTestService, type TestService } from '../support/service.ts'

let service: TestService
let account: Account
let senders: Senders

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
  await livingWorker(service, idleSweeper.worker)
  ;({ senders } = openProviders(service.runtime))
})
afterAll(() => service.stop())

const acceptText = () => accept(service, account, textBody())
const deliverAs = (heartbeat: Heartbeat) =>
  createDeliver(service.runtime, { senders, heartbeat, permits: createPermits(service.runtime) })
const lostClaims = async () =>
  (await findLostClaims(service.runtime.db, idleSweeper, 1000)).map(({ requestId }) => requestId)
const knownWorkers = async () =>
  (await service.runtime.db.select().from(workers)).map(({ name }) => name).sort()

/** Makes the claim older than it is. */
async function age(requestId: string, seconds: number): Promise<void> {
  const before = sql`clock_timestamp() - ${seconds} * interval '1 s'`
  await service.runtime.db.update(sends).set({ claimedAt: before }).where(eq(sends.requestId, requestId))
}

const forget = (worker: string) => service.runtime.db.delete(workers).where(eq(workers.name, worker))

test.each<[string, (worker: string) => Promise<unknown>]>([
  ['no lease yet', forget],
  ['a lease that has run out', (worker) => lapse(service, worker)],
  ['a lease that it has ended', (worker) => retire(service.runtime.db, worker)],
])('a worker with %s claims nothing, and asks to be woken again soon', async (what, end) => {
  const worker = `without ${what}`
  const heartbeat = await livingWorker(service, worker)
  await end(worker)
  const requestId = await acceptText()
  const { wakeInMs } = await deliverAs(heartbeat)(requestId)
  expect(wakeInMs).toBeGreaterThan(0)
  expect(wakeInMs).toBeLessThanOrEqual(1000)
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', attempt: 0, claimId: null })
  expect(await received(service, requestId)).toEqual([])

  await beat(service.runtime.db, worker, 60_000)
  await deliverAs(heartbeat)(requestId)
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'sent', attempt: 1 })
})

test('a worker whose lease ran out after its claim makes no call: the attempt does not count, and is made again', async () => {
  const requestId = await acceptText()
  const late = { ...(await livingWorker(service, 'late')), holdsLease: () => false }
  // More failures than there are attempts.
  const beDue = () =>
    service.runtime.db
      .update(sends)
      .set({ nextAttemptAt: new Date(0) })
      .where(eq(sends.requestId, requestId))
  for (let round = 0; round < 6; round++) {
    await beDue()
    expect(await deliverAs(late)(requestId)).toMatchObject({ wakeInMs: 1000 })
    expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', attempt: 0, finishedAt: null })
  }
  expect(await received(service, requestId)).toEqual([])
  const { events } = await timelineOf(service, requestId)
  expect(events).toHaveLength(1 + 6 * 3)
  expect(events.slice(0, 4)).toMatchObject([
    { event: 'accepted' },
    { event: 'attempt_started', attempt: 1, worker: 'late' },
    { event: 'attempt_finished', attempt: 1, outcome: 'not_called', reason: expect.any(String) },
    { event: 'retry_scheduled', nextAttemptAt: expect.any(String) },
  ])

  await beDue()
  await deliverAs(await livingWorker(service, 'in time'))(requestId)
  expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', attempts: 1 })
  expect(await received(service, requestId)).toHaveLength(1)
})

test('the claims of a worker that has ended its lease are lost at once, and those of one that lives are not', async () => {
  const requestId = await acceptText()
  await beginAttempt(service, requestId, 'quitter')
  expect(await lostClaims()).not.toContain(requestId)
  await retire(service.runtime.db, 'quitter')
  expect(await lostClaims()).toContain(requestId)
  await sweepOnce(service)
  expect((await timelineOf(service, requestId)).status).toBe('uncertain')
})

test('a worker process that stops ends its lease', async () => {
  const { stop } = await service.startWorker('stops')
  await stop()
  expect(await findDeadWorkers(service.runtime.db)).toContain('stops')
})

test('a claim of a living worker is never given up, however long its call takes', async () => {
  const requestId = await acceptText()
  const marker = await acceptText()
  const send = await beginAttempt(service, requestId, 'retryUntilAvailable')
  await beginAttempt(service, marker, 'marker')
  await age(requestId, 86_400)
  await lapse(service, 'marker')
  await sweepOnce(service)
  expect((await rowOf(service, marker)).status).toBe('uncertain')
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'sending', claimId: send.claimId })
  await endAttempt(service, send, { outcome: 'sent' })
  const timeline = await timelineOf(service, requestId)
  expect(timeline.status).toBe('sent')
  expect(timeline.events.at(-2)).not.toHaveProperty('late')
})

test('a claim of an unknown worker is given up after a minute, and not before', async () => {
  const ages = [70, 50, 0] as const
  const ids = await Promise.all(ages.map(acceptText))
  for (const [index, requestId] of ids.entries()) {
    await beginAttempt(service, requestId, 'stranger')
    await age(requestId, ages[index] ?? 0)
  }
  await forget('stranger')
  await sweepOnce(service)
  const states = await Promise.all(ids.map(async (requestId) => (await rowOf(service, requestId)).status))
  expect(states).toEqual(['uncertain', 'sending', 'sending'])
})

test('a worker that cannot know whether others live gives up no claim, and deletes no worker', async () => {
  const requestId = await acceptText()
  await beginAttempt(service, requestId, 'undeclared')
  await lapse(service, 'undeclared')
  const unsteady = { ...(await livingWorker(service, 'unsteady')), maySweep: () => false }
  await startSweeps(service.runtime, unsteady, () => []).stop()
  expect((await rowOf(service, requestId)).status).toBe('sending')
  expect(await knownWorkers()).toContain('undeclared')
  await sweepOnce(service)
  expect((await rowOf(service, requestId)).status).toBe('uncertain')
})

test('dead workers are deleted once their claims are given up, living ones are not', async () => {
  for (const name of ['forgotten', 'remembered']) await livingWorker(service, name)
  await lapse(service, 'forgotten')
  await sweepOnce(service)
  expect(await knownWorkers()).not.toContain('forgotten')
  expect(await knownWorkers()).toEqual(expect.arrayContaining(['remembered', 'sweeper']))
})

test('a worker that was found dead and beats again is not deleted', async () => {
  const { db } = service.runtime
  await livingWorker(service, 'revived')
  await lapse(service, 'revived')
  const dead = await findDeadWorkers(db)
  expect(dead).toContain('revived')
  await beat(db, 'revived', 60_000)
  await forgetDeadWorkers(db, dead)
  expect(await knownWorkers()).toContain('revived')
})
