import { v7 as uuidv7 } from 'uuid'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { findCallers } from '../../db/accounts/api-keys.ts'
import { findOwnChannels } from '../../db/accounts/channels.ts'
import { insertSends } from '../../db/admission/accepts.ts'
import { findIdempotencyKeys } from '../../db/admission/idempotency-keys.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { claimSends, reclaimSends } from '../../db/delivery/claims.ts'
import { findBusyChannels, findDueSends, findReadyHeads } from '../../db/delivery/due-sends.ts'
import { giveUpClaims } from '../../db/delivery/lost-claims.ts'
import { recordOutcomes } from '../../db/delivery/outcomes.ts'
import { grantPermits } from '../../db/delivery/permits.ts'
import { findRefusals } from '../../db/delivery/refusals.ts'
import { findWaitingOverflow } from '../../db/delivery/slow-start.ts'
import { findChannelsOfSends, findReceivingChannels, recordReceipts } from '../../db/receipts/receipts.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import { listSends } from '../../db/sends/list.ts'
import { eraseContact } from '../../db/upkeep/erase.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import { buildNewSend, manyOf } from '../support/batches.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { buildReceipt } from '../support/receipts.ts'
import { rowsRead } from '../support/rows-read.ts'
import { startTestService, type TestService, testSuppressionKey } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

const worker = 'plans'
/** PostgreSQL compares their costs with that of one for all. */
const plansBeforeOneIsKept = 5
const batch = 50
/** For each send of a batch: its row, the one before it in its lane, and both again where a row is written. */
const maxRowsPerSend = 8

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
  const { db } = service.runtime
  await db.$client.query(`alter table sends set (autovacuum_enabled = off)`)
  await db.$client.query(`insert into workers (name, alive_until) values ($1, 'infinity')`, [worker])
})
afterAll(() => service.stop())

async function grow(
  { $client }: Database,
  count: number,
  lane: string,
  columns: Record<string, string>,
): Promise<void> {
  const { accountId, channelId } = account
  await $client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, lane, next_attempt_at, ${Object.keys(columns)})
     select uuidv7(), $1, $2, 'phone', '+49' || ${lane}, 'text', '{"type": "text", "text": {"value": "Hello"}}', false,
            ${lane}, clock_timestamp() - interval '1 hour', ${Object.values(columns)}
     from generate_series(1, ${count}) n`,
    [accountId, channelId],
  )
}

/** 3,000 sends that wait, 1,000 of them in one lane. */
async function growWaiting(db: Database): Promise<void> {
  await grow(db, 2000, '10000 + n % 1000', { overflow: 'n > 16' })
  await grow(db, 1000, '1', { overflow: 'true' })
}

/** Finished sends, of which PostgreSQL has statistics, and sends that have been added since. */
async function growStale(db: Database): Promise<void> {
  await grow(db, 20_000, 'n % 5000', { status: `'sent'`, finished_at: 'now()' })
  await db.$client.query('vacuum analyze sends')
  await growWaiting(db)
}

const idsWhere = async (condition: string): Promise<string[]> => {
  const select = `select request_id as id from sends where finished_at is null and ${condition} order by seq limit ${batch}`
  return (await service.runtime.db.$client.query<{ id: string }>(select)).rows.map(({ id }) => id)
}

function connect(planCacheMode: string): Database {
  const url = new URL(service.stores.databaseUrl)
  url.searchParams.set('options', `-c plan_cache_mode=${planCacheMode}`)
  return connectDatabase(url.href, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
}

const accept = (db: Database, count: number) => insertSends(db, manyOf(count, account).map(buildNewSend))

const accepts = (db: Database) => [() => accept(db, batch), () => accept(db, 1)]

/** The statements by which a worker delivers, for sends that may all go. */
function deliveries(db: Database, ids: readonly string[]): (() => Promise<unknown>)[] {
  const claim = { id: uuidv7(), worker, suppressionKey: testSuppressionKey, inAnyOrder: false }
  const unknown = { providerStatus: null, providerCode: null, providerMessageId: null }
  const record = { outcome: 'sent', attempt: 1, durationMs: 5, ...unknown } as const
  const outcome = {
    claimId: claim.id,
    status: 'sent',
    record,
    reason: undefined,
    delayMs: undefined,
  } as const
  const receipts = (kind: ReceiptKind) => () =>
    recordReceipts(
      db,
      ids.map((id) => buildReceipt(id, account.channelId, kind)),
    )
  return [
    () => findRefusals(db, ids, testSuppressionKey),
    () => findChannelsOfSends(db, ids),
    () => findReadyHeads(db, ids),
    () => claimSends(db, ids, claim),
    () => reclaimSends(db, ids, claim),
    receipts('accepted'),
    () =>
      recordOutcomes(
        db,
        ids.map((requestId) => ({ requestId, ...outcome })),
      ),
    receipts('delivered'),
  ]
}

/** Ends claims that were lost, of sends of which receipts came during the call. */
function giveUp(db: Database, claimId: string, ids: readonly string[]): Promise<unknown> {
  const sweeper = { worker, inFlight: [], sweepsUntil: new Date('2100-01-01') }
  const decided = { mayHaveCalled: true, status: 'uncertain', reason: 'lost', delayMs: undefined } as const
  return giveUpClaims(
    db,
    sweeper,
    ids.map((requestId) => ({ requestId, claimId, ...decided })),
  )
}

/** Claims that the worker made, and lost. */
async function loseClaims({ $client }: Database, claimId: string, ids: readonly string[]): Promise<void> {
  await $client.query(
    `update sends set status = 'sending', attempt = 1, worker = $1, claim_id = $2, claimed_at = now() - interval '1 hour',
                      conversation_id = uuidv7()
     where request_id = any($3)`,
    [worker, claimId, ids],
  )
  const receipts = ids.map((id) => buildReceipt(id, account.channelId, 'delivered'))
  await recordReceipts(service.runtime.db, receipts)
}

const expectFew = async (db: Database, work: () => Promise<unknown>, rows = batch) =>
  expect(await rowsRead(db, work)).toBeLessThanOrEqual(rows * maxRowsPerSend)

describe('a cached plan', () => {
  let db: Database
  afterEach(async () => {
    await db.$client.end()
    await service.runtime.db.$client.query('truncate sends cascade')
  })

  test.each([
    ['never counted', 0, ''],
    ['never counted, with few sends', 50, ''],
    // By then one index has one more level than the others.
    ['never counted, with some sends', 250, ''],
    ['counted while empty', 0, 'vacuum analyze sends'],
    ['counted with 50 sends', 50, 'vacuum analyze sends'],
    ['counted with 100 sends', 100, 'vacuum analyze sends'],
    ['counted with 250 sends', 250, 'vacuum analyze sends'],
    ['counted with 500 sends', 500, 'vacuum analyze sends'],
    ['counted with 1000 sends', 1000, 'vacuum analyze sends'],
  ])('made for a table %s, it reads few of the sends that wait', async (_, few, count) => {
    const { db: grown } = service.runtime
    if (few > 0) await grow(grown, few, '20000 + n', { overflow: 'n % 2 = 1' })
    if (count) await grown.$client.query(count)
    db = connect('force_generic_plan')
    for (const statement of [...accepts(db), ...deliveries(db, [])]) await statement()
    await giveUp(db, uuidv7(), [])
    await growWaiting(grown)

    const heads = await idsWhere('lane between 10000 and 10900')
    for (const statement of [...accepts(db), ...deliveries(db, heads)]) await expectFew(db, statement)
    const lost = await idsWhere('lane between 10901 and 10999')
    const claimId = uuidv7()
    await loseClaims(grown, claimId, lost)
    await expectFew(db, () => giveUp(db, claimId, lost))
    const { rows } = await grown.$client.query(
      'select from sends where request_id = any($1) and delivery is not null',
      [lost],
    )
    expect(rows).toHaveLength(batch)
  })

  test('statements for single sends soon keep one', async () => {
    db = connect('auto')
    await grow(service.runtime.db, 20, '20000 + n', { overflow: 'false' })
    for (const id of await idsWhere('lane > 20000')) {
      for (const statement of [() => accept(db, 1), ...deliveries(db, [id])]) await statement()
    }
    const { rows } = await db.$client.query(
      `select name, custom_plans from pg_prepared_statements where custom_plans > ${plansBeforeOneIsKept} order by name`,
    )
    expect(rows).toEqual([])
  })
})

describe.each(['force_custom_plan', 'force_generic_plan'])(
  'after a count of a time without any, a statement reads few of the sends that wait: %s',
  (mode) => {
    let db: Database

    beforeAll(async () => {
      await service.runtime.db.$client.query('truncate sends cascade')
      await growStale(service.runtime.db)
      db = connect(mode)
    })
    afterAll(() => db.$client.end())

    test('accepts', async () => {
      for (const statement of accepts(db)) await expectFew(db, statement)
    })

    test.each([
      ['heads of lanes', 'lane between 10000 and 10900'],
      ['those behind them', 'lane = 1'],
    ])('claims, refusals and outcomes: %s', async (_, which) => {
      const ids = await idsWhere(`status = 'queued' and ${which}`)
      for (const statement of deliveries(db, ids)) await expectFew(db, statement)
    })

    test('searches for due sends', async () => {
      const { channelId } = account
      await expectFew(db, () => findBusyChannels(db, { overdueByMs: 5000, unusedForMs: 10_000 }))
      const which = { channels: [{ channelId, after: undefined }], overdueByMs: 5000, limit: batch }
      await expectFew(db, () => findDueSends(db, { ...which, permitFree: 'all' }))
      await expectFew(db, () => findWaitingOverflow(db, channelId, batch))
    })

    test('permits', async () => {
      const { channelId } = account
      const limit = (calls: number | null) =>
        db.$client.query('update channels set max_in_flight = $2 where id = $1', [channelId, calls])
      await limit(batch)
      await expectFew(db, () => grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 }))
      await expectFew(db, () => findBusyChannels(db, { overdueByMs: 5000, unusedForMs: 0 }))
      await limit(null)
    })

    test('a list by provider message id: no more than one page', async () => {
      const search = { limit: 50, providerMessageIds: ['SM4711'] }
      const lookedAt = 1000
      // Those, again to find where they end, and what each of the two reads on the way.
      const most = 2 * lookedAt + 10
      expect(await rowsRead(db, () => listSends(db, undefined, search, lookedAt))).toBeLessThanOrEqual(most)
    })

    test('explanations, and erasing a contact', async () => {
      const [first = ''] = await idsWhere('lane = 1')
      await expectFew(db, () => findExplanation(db, first))
      const contact = { type: 'phone', value: mode === 'force_custom_plan' ? '+4917' : '+4918' } as const
      await expectFew(db, () => eraseContact(db, { accountId: account.accountId, contact }))
    })
  },
)

describe.each(['force_custom_plan', 'force_generic_plan'])('of many, a look-up reads few: %s', (mode) => {
  const many = 2000
  let db: Database

  beforeAll(async () => {
    db = connect(mode)
    const { $client } = db
    const ids = await $client.query<{ id: string }>(
      `insert into accounts (id, name) select uuidv7(), 'Test' from generate_series(1, ${many}) returning id`,
    )
    const accountIds = ids.rows.map(({ id }) => id)
    await $client.query(
      `insert into api_keys (id, account_id, hash, display_prefix, permissions)
       select uuidv7(), id, sha256(id::text::bytea), '', '{}' from unnest($1::uuid[]) id`,
      [accountIds],
    )
    await $client.query(
      `insert into channels (id, account_id, provider, name, sealed_config, on_uncertain)
       select id, id, 'sandbox', 'Test', 'sealed', 'hold' from unnest($1::uuid[]) id`,
      [accountIds],
    )
    await $client.query(
      `insert into idempotency_keys (hash, fingerprint, request_id)
       select sha256(id::text::bytea), '', id from unnest($1::uuid[]) id`,
      [accountIds],
    )
    await $client.query('vacuum analyze accounts, api_keys, channels, idempotency_keys')
  })
  afterAll(() => db.$client.end())

  test('of keys, channels and Idempotency-Keys', async () => {
    const { rows } = await db.$client.query<{ id: string; hash: string }>(
      `select id, encode(sha256(id::text::bytea), 'hex') as hash from accounts where name = 'Test' order by id desc limit 3`,
    )
    const hashes = rows.map(({ hash }) => hash)
    const read = async (table: string, work: () => Promise<unknown>) =>
      expect([table, await rowsRead(db, work, table)]).toEqual([table, rows.length])
    await read('api_keys', () => findCallers(db, hashes))
    await read('accounts', () => findCallers(db, hashes))
    await read('channels', () =>
      findOwnChannels(
        db,
        rows.map(({ id }) => ({ channelId: id, accountId: id })),
      ),
    )
    await read('channels', () =>
      findReceivingChannels(
        db,
        rows.map(({ id }) => id),
      ),
    )
    await read('idempotency_keys', () => findIdempotencyKeys(db, hashes))
  })
})
