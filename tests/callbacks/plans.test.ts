import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { insertSends } from '../../db/admission/accepts.ts'
import { pageOfCallbacks } from '../../db/callbacks/callback-pages.ts'
import { findDueEndpoints, findNextCalls } from '../../db/callbacks/due-endpoints.ts'
import { claimEndpoints } from '../../db/callbacks/endpoint-claims.ts'
import { recordTries } from '../../db/callbacks/record-tries.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { claimSends } from '../../db/delivery/claims.ts'
import { recordOutcomes } from '../../db/delivery/outcomes.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { buildNewSend, manyOf } from '../support/batches.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { buildEndpoint, type Endpoint } from '../support/endpoints.ts'
import { livingWorker } from '../support/living-worker.ts'
import { buildReceipt } from '../support/receipts.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

const worker = 'plans'
const batch = 50
const delivered = 20_000
const waiting = 2000
/** Rows that are read for each callback: its own, the one before it of its send, and its own again where it is written. */
const maxRowsEach = 6

let service: TestService
let account: Account
let endpoints: Endpoint[]
/** An endpoint of another account, all of whose callbacks are tried again later. */
let retrying: Endpoint

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
  endpoints = []
  for (let count = 0; count < 5; count++)
    endpoints.push(await buildEndpoint(service, account.accountId, 'https://example.com/callbacks'))
  retrying = await buildEndpoint(
    service,
    (await buildAccount(service)).accountId,
    'https://example.com/later',
  )
  await livingWorker(service, worker)
  const { $client } = service.runtime.db
  await $client.query('alter table callbacks set (autovacuum_enabled = off)')
})
afterAll(() => service.stop())

async function grow(count: number, finished: boolean): Promise<void> {
  for (const { endpointId } of endpoints)
    await service.runtime.db.$client.query(
      `insert into callbacks (endpoint_id, request_id, sequence, type, finished_at)
       select $1, uuidv7(), 1, 'message.sent', case when $3 then now() end from generate_series(1, $2) n`,
      [endpointId, count / endpoints.length, finished],
    )
}

async function retryLater(count: number): Promise<void> {
  await service.runtime.db.$client.query(
    `insert into callbacks (endpoint_id, request_id, sequence, type, tried, next_try_at)
     select $1, uuidv7(), 1, 'message.sent', 1, now() + interval '1 hour' from generate_series(1, $2) n`,
    [retrying.endpointId, count],
  )
}

/** All older than callbacks are kept: waiting ones of sends that are there, and as many that ended as a page has. */
async function age(count: number): Promise<void> {
  const { $client } = service.runtime.db
  const id = `('01890000-0000-7000-8000-' || lpad(n::text, 12, '0'))::uuid`
  await $client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, status, attempt, finished_at)
     select ${id}, $1, $2, 'phone', '+491', 'text', '{}', false, 'sent', 1, now() - interval '30 days'
     from generate_series(1, $3) n on conflict do nothing`,
    [account.accountId, account.channelId, count],
  )
  await $client.query(
    `insert into callbacks (endpoint_id, request_id, sequence, type, created_at, finished_at)
     select $1, ${id}, 1, 'message.sent', now() - interval '30 days',
            case when n <= $3 then now() - interval '8 days' end from generate_series(1, $2) n`,
    [endpoints[0]?.endpointId, count, batch],
  )
}

function connect(mode: string): Database {
  const url = new URL(service.stores.databaseUrl)
  url.searchParams.set('options', `-c plan_cache_mode=${mode}`)
  return connectDatabase(url.href, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
}

async function rowsRead(db: Database, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    await db.$client.query('select pg_stat_force_next_flush()')
    const { rows } = await db.$client.query<{ read: string }>(
      `select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables where relname = 'callbacks'`,
    )
    return Number(rows[0]?.read)
  }
  const before = await count()
  await work()
  return (await count()) - before
}

const claimOf = (db: Database, { endpointId }: Endpoint, claimId = uuidv7()) =>
  claimEndpoints(db, [{ endpointId, claimId, limit: batch, except: [] }], worker)

/** Sends that endpoints got callbacks about. */
async function sentOnes(db: Database): Promise<string[]> {
  const rows = manyOf(batch, account).map(buildNewSend)
  const ids = rows.map(({ requestId }) => requestId)
  const claimId = uuidv7()
  await insertSends(db, rows)
  await claimSends(db, ids, { id: claimId, worker, suppressionKey: testSuppressionKey, inAnyOrder: false })
  const unknown = { providerStatus: null, providerCode: null, providerMessageId: null }
  const record = { outcome: 'sent', attempt: 1, durationMs: 5, ...unknown } as const
  const sent = { claimId, status: 'sent' as const, record, reason: undefined, delayMs: undefined }
  await recordOutcomes(
    db,
    ids.map((requestId) => ({ requestId, ...sent })),
  )
  return ids
}

const reports = (ids: readonly string[]) => ids.map((id) => buildReceipt(id, account.channelId, 'delivered'))

describe.each(['force_custom_plan', 'force_generic_plan'])('with %s', (mode) => {
  test('made for an empty table, the statements of a worker read few of many', async () => {
    await service.runtime.db.$client.query('truncate callbacks')
    await service.runtime.db.$client.query('update endpoints set claim_id = null, answered_at = now()')
    const db = connect(mode)
    const ids = endpoints.map(({ endpointId }) => endpointId)
    const [first] = endpoints as [Endpoint]
    const [claimId, otherId] = [uuidv7(), uuidv7()]
    const statements: [string, () => Promise<unknown>, number][] = [
      ['next calls', () => findNextCalls(db, ids), endpoints.length],
      ['due endpoints', () => findDueEndpoints(db, 0), 2 * endpoints.length],
      ['claim', () => claimOf(db, first, claimId), batch],
      ['claim with nothing due', () => claimOf(db, retrying, otherId), 1],
    ]
    const trims = retentionTrims({
      days: 90,
      mediaHours: 24,
      callbackDays: 7,
      auditDays: 365,
      usageMonths: 25,
    })
    for (const [, statement] of statements) await statement()
    await pageOfCallbacks(db, first.endpointId, { limit: 20 })
    await recordTries(db, [])
    await trims.callbacks?.(db, batch)
    const sent = await sentOnes(db)
    await recordReceipts(db, reports([uuidv7()]))
    await grow(delivered, true)
    await grow(waiting, false)
    await retryLater(waiting)
    await service.runtime.db.$client.query('update endpoints set claim_id = null')

    for (const state of [undefined, 'waiting'] as const)
      expect(
        await rowsRead(db, () => pageOfCallbacks(db, first.endpointId, { limit: 20, state }, 100)),
      ).toBeLessThanOrEqual(200)
    for (const [name, statement, rows] of statements)
      expect([name, await rowsRead(db, statement)]).toEqual([
        name,
        expect.toSatisfy((read) => read <= rows * maxRowsEach),
      ])
    await age(waiting)
    expect(
      await rowsRead(db, async () => expect(await trims.callbacks?.(db, batch)).toBe(batch)),
    ).toBeLessThanOrEqual(batch * maxRowsEach)
    expect(await rowsRead(db, async () => trims.callbacks?.(db, batch))).toBe(0)
    await service.runtime.db.$client.query(
      "delete from callbacks where created_at < now() - interval '1 day'",
    )
    const [claimed] = await claimOf(db, first, claimId)
    const tries = (claimed?.callbacks ?? []).map(({ endpointId, requestId, sequence, tried }) => ({
      ...{ endpointId, requestId, sequence, tried, status: 200, reason: null, durationMs: 5 },
      ...{ result: 'delivered' as const, delayMs: null },
    }))
    expect(tries).toHaveLength(batch)
    expect(await rowsRead(db, () => recordTries(db, tries))).toBeLessThanOrEqual(batch * maxRowsEach)
    const failed = { status: 503, result: 'failed' as const, delayMs: 60_000 }
    const [again] = await claimOf(db, first, claimId)
    const failures = (again?.callbacks ?? []).map(({ endpointId, requestId, sequence, tried }) => ({
      ...{ endpointId, requestId, sequence, tried, reason: null, durationMs: 5 },
      ...failed,
    }))
    expect(failures).toHaveLength(batch)
    expect(await rowsRead(db, () => recordTries(db, failures))).toBeLessThanOrEqual(batch * maxRowsEach)
    const told = batch * endpoints.length
    expect(await rowsRead(db, () => recordReceipts(db, reports(sent)))).toBeLessThanOrEqual(
      told * maxRowsEach,
    )
    await db.$client.end()
  })
})
