import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { findDueEndpoints, findNextCalls } from '../../db/callbacks/due-endpoints.ts'
import { claimEndpoints, releaseEndpoints, releaseLostClaims } from '../../db/callbacks/endpoint-claims.ts'
import { noteEndpointAnswers, noteEndpointFailure } from '../../db/callbacks/endpoint-health.ts'
import { disableEndpoint } from '../../db/callbacks/endpoints.ts'
import { recordTries, type TryRow } from '../../db/callbacks/record-tries.ts'
import { resendOfEndpoint, resendOfSend } from '../../db/callbacks/resends.ts'
import { openEndpointBreaker } from '../../db/delivery/breakers.ts'
import { forgetDeadWorkers } from '../../db/delivery/leases.ts'
import { callbacks } from '../../db/schema.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import type { EndpointWakeUp } from '../../src/core/callbacks/callback-job.ts'
import { restoreEndpointsOnShards } from '../../src/queue/shard.ts'
import { startEndpointReconciler } from '../../workers/upkeep/reconcile-endpoints.ts'
import { idleSweeper, lapse } from '../support/attempts.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { buildEndpoint, callbacksOf, type Endpoint, endpointRow } from '../support/endpoints.ts'
import { livingWorker } from '../support/living-worker.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let service: TestService
let account: Account
let endpoint: Endpoint

beforeAll(async () => {
  service = await startTestService()
})
afterAll(() => service.stop())
beforeEach(async () => {
  account = await buildAccount(service)
  endpoint = await buildEndpoint(service, account.accountId, 'https://example.com/callbacks')
  await livingWorker(service, 'one')
  await livingWorker(service, 'two')
})

async function add(requestId: string, sequence: number, of = endpoint): Promise<void> {
  await service.runtime.db
    .insert(callbacks)
    .values({ endpointId: of.endpointId, requestId, sequence, type: 'message.sent' })
}

const request = (more: object = {}) => ({
  endpointId: endpoint.endpointId,
  claimId: uuidv7(),
  limit: 100,
  except: [],
  ...more,
})

async function take(worker = 'one', more: object = {}) {
  const [claimed] = await claimEndpoints(service.runtime.db, [request(more)], worker)
  return claimed
}

const keysOf = (claimed: Awaited<ReturnType<typeof take>>) =>
  claimed?.callbacks.map(({ requestId, sequence }) => `${requestId} ${sequence}`)

const tryOf = (requestId: string, sequence: number, more: Partial<TryRow> = {}): TryRow => ({
  endpointId: endpoint.endpointId,
  ...{
    requestId,
    sequence,
    tried: 0,
    status: 200,
    reason: null,
    durationMs: 5,
    result: 'delivered',
    delayMs: null,
  },
  ...more,
})

const row = () => endpointRow(service, endpoint)
const database = () => service.runtime.db
const answered = async (url?: string) =>
  noteEndpointAnswers(database(), [{ endpointId: endpoint.endpointId, url: url ?? (await row()).url }])

describe('a claim', () => {
  beforeEach(() => answered())

  test('of an endpoint in slow start reads one', async () => {
    await database().$client.query('update endpoints set answered_at = null')
    for (let count = 0; count < 3; count++) await add(uuidv7(), 1)
    expect((await take())?.callbacks).toHaveLength(1)
  })

  test('reads what is due, of each send the first', async () => {
    const [a, b] = [uuidv7(), uuidv7()]
    await add(a, 1)
    await add(a, 2)
    await add(b, 3)
    expect(keysOf(await take())).toEqual([`${a} 1`, `${b} 3`])
  })

  test('leaves out sends with a call under way, and those that are tried later', async () => {
    const [a, b, c] = [uuidv7(), uuidv7(), uuidv7()]
    for (const id of [a, b, c]) await add(id, 1)
    const failed = tryOf(b, 1, { status: 500, result: 'failed', delayMs: 60_000 })
    await recordTries(database(), [failed])
    await add(b, 2)
    expect(keysOf(await take('one', { except: [a] }))).toEqual([`${c} 1`])
  })

  test('belongs to one worker, until it ends', async () => {
    await add(uuidv7(), 1)
    const claimId = uuidv7()
    expect(await take('one', { claimId })).toBeDefined()
    expect(await take('two')).toBeUndefined()
    expect(await take('one')).toBeUndefined()
    expect(await take('one', { claimId })).toBeDefined()
    await releaseEndpoints(database(), [{ endpointId: endpoint.endpointId, claimId: uuidv7() }])
    expect(await take('two')).toBeUndefined()
    await releaseEndpoints(database(), [{ endpointId: endpoint.endpointId, claimId }])
    expect(await take('two')).toBeDefined()
  })

  test('is not for a worker without a lease, nor of a disabled endpoint', async () => {
    await add(uuidv7(), 1)
    await lapse(service, 'one')
    expect(await take('one')).toBeUndefined()
    await disableEndpoint(database(), endpoint.endpointId, 'x')
    expect(await take('two')).toBeUndefined()
  })

  test('of a dead worker is given up, and not before', async () => {
    await take('one')
    expect(await releaseLostClaims(database(), idleSweeper, 10)).toEqual([])
    await lapse(service, 'one')
    const sweeper = { ...idleSweeper, sweepsUntil: new Date(0) }
    expect(await releaseLostClaims(database(), sweeper, 10)).toEqual([])
    expect(await releaseLostClaims(database(), idleSweeper, 10)).toContain(endpoint.endpointId)
    expect(await take('two')).toBeDefined()
  })

  test('that its own worker has dropped is given up after a minute', async () => {
    const claimId = uuidv7()
    await take('one', { claimId })
    const sweeper = { ...idleSweeper, worker: 'one' }
    expect(await releaseLostClaims(database(), sweeper, 10)).toEqual([])
    await database().$client.query(`update endpoints set claimed_at = now() - interval '2 minutes'`)
    expect(await releaseLostClaims(database(), { ...sweeper, inFlight: [claimId] }, 10)).toEqual([])
    expect(await releaseLostClaims(database(), sweeper, 10)).toEqual([endpoint.endpointId])
  })

  test('of a worker that is forgotten is given up after a minute', async () => {
    await take('one')
    await lapse(service, 'one')
    await forgetDeadWorkers(database(), ['one'])
    expect(await releaseLostClaims(database(), idleSweeper, 10)).toEqual([])
    await database().$client.query(`update endpoints set claimed_at = now() - interval '2 minutes'`)
    expect(await releaseLostClaims(database(), idleSweeper, 10)).toEqual([endpoint.endpointId])
  })

  test('with an open breaker is refused, then a probe of one callback', async () => {
    for (let count = 0; count < 3; count++) await add(uuidv7(), 1)
    await openEndpointBreaker(database(), { endpointId: endpoint.endpointId, isAgain: false })
    expect(await take()).toBeUndefined()
    await database().$client.query('update endpoints set breaker_open_until = now(), failing_since = now()')
    const claimed = await take()
    expect(claimed).toMatchObject({ isProbe: true })
    expect(claimed?.callbacks).toHaveLength(1)
    expect(await answered('https://former.example')).toEqual([])
    expect(await answered()).toEqual([endpoint.endpointId])
    expect(await row()).toMatchObject({ breakerOpenUntil: null, breakerOpenings: 0 })
  })
})

describe('a result', () => {
  test('is recorded once, whatever is repeated', async () => {
    const id = uuidv7()
    await add(id, 1)
    const failed = tryOf(id, 1, { status: 503, result: 'failed', delayMs: 1000 })
    expect(await recordTries(database(), [failed])).toHaveLength(1)
    expect(await recordTries(database(), [failed])).toEqual([])
    expect(await callbacksOf(service, endpoint)).toMatchObject([{ tried: 1, tries: [{ status: 503 }] }])
  })

  test('of success counts after a failure that another worker recorded, and a late failure changes nothing', async () => {
    const id = uuidv7()
    await add(id, 1)
    await recordTries(database(), [tryOf(id, 1, { status: 503, result: 'failed', delayMs: 1000 })])
    await recordTries(database(), [tryOf(id, 1)])
    const delivered = await callbacksOf(service, endpoint)
    expect(delivered).toMatchObject([{ givenUp: false, tries: [{ status: 503 }, { status: 200 }] }])
    await recordTries(database(), [tryOf(id, 1, { tried: 2, status: 503, result: 'given_up' })])
    expect(await callbacksOf(service, endpoint)).toEqual(delivered)
  })

  test('of a failure puts off the later ones of its send, until it is delivered', async () => {
    const [a, b] = [uuidv7(), uuidv7()]
    for (const sequence of [1, 2, 3]) await add(a, sequence)
    await add(b, 1)
    await recordTries(database(), [tryOf(a, 1, { status: 500, result: 'failed', delayMs: 60_000 })])
    const [first, second, third, other] = await callbacksOf(service, endpoint)
    expect(first?.nextTryAt.getTime()).toBeGreaterThan(Date.now() + 50_000)
    expect([second?.nextTryAt, third?.nextTryAt]).toEqual([first?.nextTryAt, first?.nextTryAt])
    expect(other?.nextTryAt.getTime()).toBeLessThanOrEqual(Date.now() + 1000)
    // By a worker that was frozen during its call, after another one's had failed.
    await recordTries(database(), [tryOf(a, 1)])
    await answered()
    expect(keysOf(await take())).toEqual([`${b} 1`, `${a} 2`])
  })

  test('410 uses no try', async () => {
    const id = uuidv7()
    await add(id, 1)
    await recordTries(database(), [tryOf(id, 1, { status: 410, result: 'gone' })])
    expect(await callbacksOf(service, endpoint)).toMatchObject([
      { tried: 0, finishedAt: null, tries: [{ status: 410 }] },
    ])
  })

  test('the last twenty are kept', async () => {
    const id = uuidv7()
    await add(id, 1)
    for (let tried = 0; tried < 25; tried++)
      await recordTries(database(), [
        tryOf(id, 1, { tried, durationMs: tried, result: 'failed', delayMs: 0 }),
      ])
    const [callback] = await callbacksOf(service, endpoint)
    expect(callback?.tries).toHaveLength(20)
    expect(callback?.tries.at(-1)).toMatchObject({ durationMs: 24 })
  })
})

describe('an endpoint', () => {
  test('that fails for days without a 2xx is disabled, with calls that aren’t too far apart', async () => {
    const { endpointId } = endpoint
    const { url } = await row()
    const fail = (disables?: string) => noteEndpointFailure(database(), { endpointId, url }, disables)
    const age = (sql: string) =>
      database().$client.query(`update endpoints set ${sql} where id = $1`, [endpointId])
    expect(await fail()).toBeNull()
    expect(await row()).toMatchObject({ disabledAt: null, failingSince: expect.any(Date) })
    await age(`failing_since = now() - interval '6 days', failed_at = now() - interval '3 days'`)
    expect(await fail()).toBeNull()
    await age(`failing_since = now() - interval '6 days'`)
    expect(await fail()).toContain('5 days')
    expect(await row()).toMatchObject({ disabledReason: 'no call was answered with a 2xx for 5 days' })
    expect(await fail('again')).toBeUndefined()
  })

  test('is in slow start until its first 2xx, after a failure until its next one, and ten minutes after the last', async () => {
    const claimId = uuidv7()
    const expectSlowStart = async (isInSlowStart: boolean) =>
      expect(await take('one', { claimId })).toMatchObject({ isInSlowStart })
    await expectSlowStart(true)
    await answered()
    await expectSlowStart(false)
    await noteEndpointFailure(database(), { ...endpoint, url: (await row()).url }, undefined)
    await expectSlowStart(true)
    await answered()
    await expectSlowStart(false)
    await database().$client.query(`update endpoints set answered_at = now() - interval '1 hour'`)
    await expectSlowStart(true)
  })
})

describe('what is due', () => {
  const ours = async () =>
    (await findDueEndpoints(database(), 0)).filter(({ endpointId }) => endpointId === endpoint.endpointId)

  test('is found, unless somebody calls, it is disabled, or only later ones wait', async () => {
    expect(await ours()).toEqual([])
    const id = uuidv7()
    await add(id, 1)
    await add(id, 2)
    expect(await ours()).toHaveLength(1)
    const claimId = uuidv7()
    await take('one', { claimId })
    expect(await ours()).toEqual([])
    await releaseEndpoints(database(), [{ endpointId: endpoint.endpointId, claimId }])
    await recordTries(database(), [tryOf(id, 1, { status: 500, result: 'failed', delayMs: 60_000 })])
    expect(await ours()).toEqual([])
    const [next] = await findNextCalls(database(), [endpoint.endpointId])
    expect(next?.inMs).toBeGreaterThan(50_000)
    expect(next?.inMs).toBeLessThanOrEqual(60_000)
  })

  test('by the breaker, if that is later', async () => {
    await add(uuidv7(), 1)
    expect(await findNextCalls(database(), [endpoint.endpointId])).toMatchObject([
      { endpointId: endpoint.endpointId, inMs: 0 },
    ])
    await openEndpointBreaker(database(), { endpointId: endpoint.endpointId, isAgain: false })
    const [next] = await findNextCalls(database(), [endpoint.endpointId])
    expect(next?.inMs).toBeGreaterThan(8000)
    expect(await ours()).toEqual([])
  })
})

test('a pass of the reconciler adds wake-ups of all endpoints that are due, however many', async () => {
  const count = 2100
  const { rows } = await database().$client.query<{ id: string }>(
    `with added as (
       insert into endpoints (id, account_id, url, sealed_secret)
       select uuidv7(), $1, 'https://example.com/' || n, '' from generate_series(1, $2) n returning id)
     insert into callbacks (endpoint_id, request_id, sequence, type)
     select id, uuidv7(), 1, 'message.sent' from added returning endpoint_id as id`,
    [account.accountId, count],
  )
  const times = { overdueByMs: 0, reconcileEveryMs: 3_600_000 }
  const task = startEndpointReconciler(service.runtime, times)
  onTestFinished(() => task.stop())
  const found = async () => {
    const jobs = await Promise.all(rows.map(({ id }) => service.runtime.slowStarts.getJob(id)))
    return jobs.filter((job) => job !== undefined).length === count
  }
  await eventually('all wake-ups', found)
})

test('a new callback wakes an endpoint before its retry, in the queue that has it', async () => {
  const { shards, callbacks: usual, slowStarts } = service.runtime
  const wake = async (endpointId: string, wakeUp: Omit<EndpointWakeUp, 'endpointId'> = {}) => {
    const { restored, failures } = await restoreEndpointsOnShards(shards, [{ endpointId, ...wakeUp }])
    expect(failures).toEqual([])
    return restored
  }
  for (const [queue, isInSlowStart] of [
    [usual, false],
    [slowStarts, true],
  ] as const) {
    const id = uuidv7()
    expect(await wake(id, { inMs: 60_000, isInSlowStart })).toBe(1)
    expect(await wake(id)).toBe(1)
    expect(await wake(id)).toBe(0)
    expect(await (await queue.getJob(id))?.getState()).not.toBe('delayed')
    expect([await usual.getJob(id), await slowStarts.getJob(id)].filter(Boolean)).toHaveLength(1)
  }
})

describe('a resend', () => {
  test('begins a new series of tries, in order', async () => {
    const { db } = service.runtime
    const id = uuidv7()
    await db.$client.query(
      `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message, close_conversation)
       values ($1, $2, $3, 'phone', '+491', 'text', '{}', false)`,
      [id, account.accountId, account.channelId],
    )
    for (const sequence of [1, 2]) {
      await add(id, sequence)
      await recordTries(db, [tryOf(id, sequence)])
    }
    expect(await resendOfSend(db, { requestId: id, endpointId: uuidv7() })).toBe(0)
    expect(await resendOfSend(db, { requestId: id, endpointId: endpoint.endpointId })).toBe(2)
    const claimed = await take()
    expect(keysOf(claimed)).toEqual([`${id} 1`])
    expect(claimed?.callbacks[0]).toMatchObject({ tried: 1, triedBeforeResend: 1 })
  })

  test('of an endpoint goes through all pages', async () => {
    const { db } = service.runtime
    await db.$client.query(
      `insert into callbacks (endpoint_id, request_id, sequence, type, finished_at, given_up)
       select $1, uuidv7(), 1, 'message.sent', now(), n % 2 = 0 from generate_series(1, 4500) n`,
      [endpoint.endpointId],
    )
    const which = { endpointId: endpoint.endpointId, since: new Date(0) }
    expect(await resendOfEndpoint(db, { ...which, onlyGivenUp: true })).toBe(2250)
    expect(await resendOfEndpoint(db, { ...which, onlyGivenUp: false })).toBe(2250)
    expect(await resendOfEndpoint(db, { ...which, since: new Date('2100-01-01'), onlyGivenUp: false })).toBe(
      0,
    )
  })
})

test('a callback is kept no longer than its send', async () => {
  const { db } = service.runtime
  const id = '01890000-0000-7000-8000-000000000009'
  await db.$client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, status, attempt, finished_at)
     values ($1, $2, $3, 'phone', '+491', 'text', '{}', false, 'sent', 1, now() - interval '2 days')`,
    [id, account.accountId, account.channelId],
  )
  await add(id, 1)
  const { sends: trim } = retentionTrims({
    days: 1,
    mediaHours: 24,
    callbackDays: 7,
    auditDays: 365,
    usageMonths: 25,
  })
  await trim?.(db, 100)
  expect(await callbacksOf(service, endpoint)).toEqual([])
})

/** An id made long before any retention time, and its callback, of an end so many days ago; null for none. */
async function addOld(endedDaysAgo: number | null, { of = endpoint.endpointId, hasSend = true } = {}) {
  const { $client } = service.runtime.db
  const id = `01890000-0000-7000-8000-${uuidv7().slice(-12)}`
  if (hasSend)
    await $client.query(
      `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, status, attempt, finished_at)
       values ($1, $2, $3, 'phone', '+491', 'text', '{}', false, 'sent', 1, now() - interval '30 days')`,
      [id, account.accountId, account.channelId],
    )
  await $client.query(
    `insert into callbacks (endpoint_id, request_id, sequence, type, created_at, finished_at)
     values ($1, $2, 1, 'message.sent', now() - interval '91 days', now() - $3 * interval '1 day')`,
    [of, id, endedDaysAgo],
  )
  return id
}

async function trimmed(): Promise<Record<string, number>> {
  const trims = retentionTrims({ days: 90, mediaHours: 24, callbackDays: 7, auditDays: 365, usageMonths: 25 })
  const counts = { callbacks: 0, orphanedCallbacks: 0 }
  for (const what of ['callbacks', 'orphanedCallbacks'] as const)
    counts[what] = (await trims[what]?.(service.runtime.db, 100)) ?? 0
  return counts
}

const keptIds = async () => (await callbacksOf(service, endpoint)).map(({ requestId }) => requestId).sort()

describe('retention', () => {
  test('counts from the end of a callback', async () => {
    await addOld(8)
    const young = await addOld(6)
    expect(await trimmed()).toEqual({ callbacks: 1, orphanedCallbacks: 0 })
    expect(await keptIds()).toEqual([young])
  })

  test('keeps a callback without an end, whether its endpoint is disabled or fails', async () => {
    const waiting = [await addOld(null), await addOld(null)].sort()
    await service.runtime.db.$client.query('update endpoints set disabled_at = now() where id = $1', [
      endpoint.endpointId,
    ])
    expect(await trimmed()).toEqual({ callbacks: 0, orphanedCallbacks: 0 })
    expect(await keptIds()).toEqual(waiting)
  })

  test('keeps one that is resent until it ends again', async () => {
    const resent = await addOld(8)
    expect(await resendOfSend(service.runtime.db, { requestId: resent })).toBe(1)
    expect(await trimmed()).toEqual({ callbacks: 0, orphanedCallbacks: 0 })
    expect(await keptIds()).toEqual([resent])
  })

  test('removes old callbacks without a send, also those of deleted endpoints', async () => {
    const deleted = uuidv7()
    await addOld(null, { hasSend: false })
    await addOld(null, { of: deleted, hasSend: false })
    await addOld(8, { of: deleted })
    await add(uuidv7(), 1)
    expect(await trimmed()).toEqual({ callbacks: 1, orphanedCallbacks: 2 })
    expect(await keptIds()).toHaveLength(1)
  })
})
