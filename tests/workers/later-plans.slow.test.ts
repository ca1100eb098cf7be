import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createFlow } from '../../db/accounts/flows.ts'
import { insertSends } from '../../db/admission/accepts.ts'
import { moveDueSends, moveSendsOfDeleted, nextDueInMs } from '../../db/admission/scheduled-sends.ts'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { readBacklog } from '../../db/sends/backlog.ts'
import { cancelSend } from '../../db/sends/cancel.ts'
import { cancelWaiting } from '../../db/sends/cancel-sets.ts'
import { listSends, type SendsQuery } from '../../db/sends/list.ts'
import { findSend } from '../../db/sends/sends.ts'
import type { ListQuery } from '../../src/core/requests/list-query.ts'
import { buildNewSend, manyOf } from '../support/batches.ts'
import { type Account, buildAccount, buildChannel } from '../support/builders.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

const many = 20_000
const due = 20

let service: TestService
let account: Account
let other: Account

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
  other = await buildAccount(service)
  const { $client } = service.runtime.db
  await $client.query('alter table sends set (autovacuum_enabled = off)')
  await $client.query('alter table scheduled_sends set (autovacuum_enabled = off)')
})
afterAll(() => service.stop())

/** Scheduled sends of the account: so many of next month, and some whose time has come. */
async function growScheduled(db: Database, count: number): Promise<void> {
  const columns = `request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                   close_conversation, send_at`
  const row = (sendAt: string) => `uuidv7(), $1, $2, 'phone', '+49151' || n, 'text',
                   '{"type": "text", "text": {"value": "Hello"}}', false, ${sendAt}`
  const values = [account.accountId, account.channelId]
  await db.$client.query(
    `insert into scheduled_sends (${columns})
     select ${row(`now() + n % 30 * interval '1 day' + interval '1 hour'`)} from generate_series(1, ${count}) n`,
    values,
  )
}

const growDue = (db: Database) =>
  db.$client.query(
    `update scheduled_sends set send_at = now() - interval '1 s'
     where request_id = any(array(select request_id from scheduled_sends limit ${due}))`,
  )

/** Finished sends of both accounts, in turn; one of a thousand of the account is canceled. */
async function growFinished(db: Database, count: number): Promise<void> {
  await db.$client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, status, finished_at, accepted_at, reference)
     select uuidv7(), case when n % 2 = 0 then $1::uuid else $3 end, case when n % 2 = 0 then $2::uuid else $4 end, 'phone',
            '+49151' || n % 5000, 'text', '{"type": "text", "text": {"value": "Hello"}}', false,
            case when n % 2000 = 0 then 'canceled' else 'sent' end, now(), now() - n * interval '1 s', 'r' || n % 100
     from generate_series(1, ${count}) n`,
    [account.accountId, account.channelId, other.accountId, other.channelId],
  )
}

/** Rows of a table that PostgreSQL has read on the way, whichever way it went. */
async function rowsRead(db: Database, table: string, work: () => Promise<unknown>): Promise<number> {
  const count = async () => {
    await db.$client.query('select pg_stat_force_next_flush()')
    const { rows } = await db.$client.query<{ read: string }>(
      `select seq_tup_read + idx_tup_fetch as read from pg_stat_user_tables where relname = $1`,
      [table],
    )
    return Number(rows[0]?.read)
  }
  const before = await count()
  await work()
  return (await count()) - before
}

function connect(planCacheMode: string): Database {
  const url = new URL(service.stores.databaseUrl)
  url.searchParams.set('options', `-c plan_cache_mode=${planCacheMode}`)
  return connectDatabase(url.href, { poolSize: 1, queryTimeoutMs: 10_000, onConnectionLost: () => {} })
}

describe.each([
  ['force_generic_plan', ''],
  ['force_custom_plan', ''],
  ['force_generic_plan', 'vacuum analyze scheduled_sends, sends'],
  ['force_custom_plan', 'vacuum analyze scheduled_sends, sends'],
])('with many scheduled sends: %s, %s', (mode, count) => {
  let db: Database

  beforeAll(async () => {
    const grown = service.runtime.db
    await grown.$client.query('truncate sends, scheduled_sends cascade')
    db = connect(mode)
    // Plans that are kept are made while both tables are empty.
    await moveDueSends(db, 500)
    await nextDueInMs(db)
    await insertSends(db, manyOf(20, account).map(buildNewSend))
    await grown.$client.query('truncate sends')
    await growScheduled(grown, many)
    await growFinished(grown, many)
    if (count) await grown.$client.query(count)
    await growDue(grown)
  })
  afterAll(() => db.$client.end())

  const reads = async (table: string, work: () => Promise<unknown>, most: number) =>
    expect(await rowsRead(db, table, work)).toBeLessThanOrEqual(most)

  test('a pass that moves what is due looks at nothing else, nor does one that finds nothing', async () => {
    // Each is found, removed, and looked up for its next one.
    await reads('scheduled_sends', async () => expect(await moveDueSends(db, 500)).toHaveLength(due), 4 * due)
    await reads('scheduled_sends', () => moveDueSends(db, 500), due)
    await reads('scheduled_sends', () => nextDueInMs(db), due + 1)
  })

  test('accepts of others read none of them, and a look-up or a cancel reads one', async () => {
    await reads('scheduled_sends', () => insertSends(db, manyOf(50, account).map(buildNewSend)), 0)
    const { rows } = await db.$client.query<{ id: string }>(
      'select request_id as id from scheduled_sends limit 2',
    )
    const [first = '', second = ''] = rows.map(({ id }) => id)
    await reads('scheduled_sends', () => findSend(db, first), 1)
    await reads('scheduled_sends', () => cancelSend(db, second), 1)
  })

  const page = { limit: 20 }
  const sparse = 20_000
  const pages: [string, Partial<ListQuery>, number][] = [
    ['without a filter', {}, 100],
    ['of a contact', { contact: { type: 'phone', value: '+491512' } }, 100],
    ['of a reference', { reference: 'r2' }, 100],
    ['sent', { status: 'sent' }, 100],
    ['of a time', { acceptedTo: new Date(Date.now() - 9_000_000) }, 100],
    ['of a channel', { channelId: 'own' }, 100],
    // Rare ones: all of the account, once more to find where they end.
    ['canceled', { status: 'canceled' }, 2 * sparse],
    ['of a code', { providerCode: '131026' }, 2 * sparse],
  ]
  test.each(pages)('a page of a list reads few of the sends: %s', async (_, query, most) => {
    const own = 'channelId' in query ? { channelId: account.channelId } : query
    await reads('sends', () => listSends(db, account.accountId, { ...page, ...own }), most)
    await reads('scheduled_sends', () => listSends(db, account.accountId, { ...page, ...own }), 100)
  })

  test('what waits with a reference or in a flow is found among all that has ended', async () => {
    const flowId = await createFlow(db, account.accountId, 'Test')
    const marks = { reference: 'r2', flowId }
    await insertSends(db, [{ ...account, ...marks }, other, account].map(buildNewSend))
    await db.$client.query(
      `update scheduled_sends set reference = 'r2', flow_id = $1
       where request_id = any(array(select request_id from scheduled_sends limit 1))`,
      [flowId],
    )
    await db.$client.query('update sends set flow_id = $1 where finished_at is not null', [flowId])
    for (const by of [{ flowId }, { reference: 'r2' }]) {
      const set = { accountId: account.accountId, by }
      const cancel = async () => void (await cancelWaiting(db, set))
      await reads('sends', cancel, 10)
      await reads('scheduled_sends', cancel, 10)
      await insertSends(db, [{ ...account, ...marks }].map(buildNewSend))
    }
  })

  test('a list of all accounts looks at a limited number of them', async () => {
    const lookedAt = 1000
    const query: SendsQuery = { limit: 50, status: 'queued', scheduled: true }
    // Those, and again to find where they end.
    await reads('scheduled_sends', () => listSends(db, undefined, query, lookedAt), 2 * lookedAt + 10)
  })

  test('the metrics count a limited number of them', async () => {
    const counted = 10_000
    await reads('scheduled_sends', () => readBacklog(db), counted + 10)
    const { scheduled } = await readBacklog(db)
    expect(scheduled).toBeGreaterThan(counted)
    // PostgreSQL's estimate, if there is one.
    if (count) expect(Math.abs(scheduled - many)).toBeLessThan(many / 10)
  })

  test('the deletion of a channel reads those of its account once', async () => {
    const channelId = await buildChannel(service, account.accountId)
    await db.$client.query('update channels set held_at = now(), deleted_at = now() where id = $1', [
      channelId,
    ])
    const { rowCount } = await db.$client.query(
      `update scheduled_sends set channel_id = $1
       where request_id = any(array(select request_id from scheduled_sends limit ${due}))`,
      [channelId],
    )
    expect(rowCount).toBe(due)
    await reads('scheduled_sends', () => moveSendsOfDeleted(db, channelId, due / 4), many + 4 * due)
    const { rows } = await db.$client.query('select from sends where channel_id = $1', [channelId])
    expect(rows).toHaveLength(due)
  })

  test('a page of an account with few sends reads none of the others', async () => {
    const lone = await buildAccount(service)
    await reads('sends', () => listSends(db, lone.accountId, page), 5)
  })
})
