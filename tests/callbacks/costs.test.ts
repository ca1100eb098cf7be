import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { insertSends } from '../../db/admission/accepts.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { claimSends } from '../../db/delivery/claims.ts'
import { recordOutcomes } from '../../db/delivery/outcomes.ts'
import { recordReceipts } from '../../db/receipts/receipts.ts'
import { statements as texts } from '../../db/statement.ts'
import { buildNewSend, manyOf } from '../support/batches.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { livingWorker } from '../support/living-worker.ts'
import { buildReceipt } from '../support/receipts.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

const worker = 'counting'
const batch = 50
/** Looks of one statement: each of its parts that need to know looks whether there is any endpoint. */
const looksOfStatement = 5

let service: TestService
let account: Account
/** On one connection, so that its statistics are known when it is asked. */
let db: Database

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
  await livingWorker(service, worker)
  db = connectDatabase(service.stores.databaseUrl, {
    ...{ poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} },
  })
})
afterAll(async () => {
  await db.$client.end()
  await service.stop()
})

/** PostgreSQL's counts of a table so far. */
async function counted(table: 'endpoints' | 'callbacks') {
  await db.$client.query('select pg_stat_force_next_flush()')
  const { rows } = await db.$client.query<Record<'scans' | 'rows' | 'writes', number>>(
    `select (seq_scan + idx_scan)::int as scans, (seq_tup_read + idx_tup_fetch)::int as rows,
            (n_tup_ins + n_tup_upd + n_tup_del)::int as writes
     from pg_stat_user_tables where relname = $1`,
    [table],
  )
  const [now] = rows
  if (!now) throw new Error(`no table ${table}`)
  return now
}

async function costOf(table: 'endpoints' | 'callbacks', work: () => Promise<unknown>) {
  const before = await counted(table)
  await work()
  const after = await counted(table)
  return {
    scans: after.scans - before.scans,
    rows: after.rows - before.rows,
    writes: after.writes - before.writes,
  }
}

/** The statements by which sends are accepted, claimed, sent and reported. */
function statements(): (() => Promise<unknown>)[] {
  const rows = manyOf(batch, account).map(buildNewSend)
  const ids = rows.map(({ requestId }) => requestId)
  const claimId = uuidv7()
  const unknown = { providerStatus: null, providerCode: null, providerMessageId: null }
  const outcome = {
    ...{ claimId, status: 'sent' as const, reason: undefined, delayMs: undefined },
    record: { outcome: 'sent', attempt: 1, durationMs: 5, ...unknown } as const,
  }
  return [
    () => insertSends(db, rows),
    () => claimSends(db, ids, { id: claimId, worker, suppressionKey: testSuppressionKey, inAnyOrder: false }),
    async () => {
      const recorded = await recordOutcomes(
        db,
        ids.map((requestId) => ({ requestId, ...outcome })),
      )
      expect(recorded).toHaveLength(batch)
      expect(recorded[0]).toMatchObject({ endpointsToWake: null })
    },
    () =>
      recordReceipts(
        db,
        ids.map((id) => buildReceipt(id, account.channelId, 'delivered')),
      ),
  ]
}

test('without endpoints, a statement looks once whether there is one, however many sends it writes', async () => {
  for (const statement of statements())
    expect(await costOf('endpoints', statement)).toEqual({
      scans: expect.toSatisfy((scans: number) => scans <= looksOfStatement),
      rows: 0,
      writes: 0,
    })
  for (const statement of statements())
    expect(await costOf('callbacks', statement)).toEqual({ scans: 0, rows: 0, writes: 0 })
})

test('beside endpoints of other accounts, it costs one look-up for each send that changes, and nothing is written', async () => {
  const other = await buildAccount(service)
  await buildEndpoint(service, other.accountId, 'https://example.com/callbacks')
  for (const statement of statements())
    expect(await costOf('endpoints', statement)).toMatchObject({
      scans: expect.toSatisfy((scans: number) => scans <= batch + looksOfStatement),
      writes: 0,
    })
  for (const statement of statements())
    expect(await costOf('callbacks', statement)).toEqual({ scans: 0, rows: 0, writes: 0 })
})

interface Step {
  'Actual Rows': number
  'Actual Loops': number
  'Rows Removed by Filter'?: number
  Plans?: Step[]
}

/** The most rows that a step of a statement goes through. */
const mostRows = ({ Plans: parts = [], ...step }: Step): number =>
  Math.max(
    (step['Actual Rows'] + (step['Rows Removed by Filter'] ?? 0)) * step['Actual Loops'],
    ...parts.map(mostRows),
  )

test.each([[false], [true]])(
  'a receipt is not compared with all that come with it, with an endpoint: %s',
  async (told) => {
    if (told) await buildEndpoint(service, account.accountId, 'https://example.com/callbacks')
    const many = 500
    const rows = manyOf(many, account).map(buildNewSend)
    const ids = rows.map(({ requestId }) => requestId)
    await insertSends(db, rows)
    await db.$client.query(
      `update sends set status = 'sent', attempt = 1, finished_at = now() where request_id = any($1)`,
      [ids],
    )
    const receipts = ids.map((id, ord) => ({ ord, ...buildReceipt(id, account.channelId, 'delivered') }))
    const explained = await db.$client.query(
      `explain (analyze, format json) ${texts.get('record_receipts')?.text}`,
      [JSON.stringify(receipts)],
    )
    // For each receipt, a row for each event that it might make.
    expect(mostRows(explained.rows[0]['QUERY PLAN'][0].Plan)).toBeLessThanOrEqual(8 * many)
  },
)
