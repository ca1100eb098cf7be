import { setTimeout as sleep } from 'node:timers/promises'
import { is } from 'drizzle-orm'
import { getTableConfig, PgTable } from 'drizzle-orm/pg-core'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { insertSends } from '../../db/admission/accepts.ts'
import type { NewSend } from '../../db/admission/new-send.ts'
import { connectDatabase } from '../../db/connection/client.ts'
import { migrateDatabase } from '../../db/migrate.ts'
import * as schema from '../../db/schema.ts'
import { deliveryStates } from '../../src/core/receipts/receipt.ts'
import { suppressionCauses } from '../../src/core/suppression/suppression.ts'
import { buildNewSend } from '../support/batches.ts'
import { buildAccount } from '../support/builders.ts'
import { serviceOfFile } from '../support/service.ts'
import { freshDatabase } from '../support/stores.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
await insertSends(service.runtime.db, [buildNewSend(account)])

const send = (set: string) => `update sends set ${set}`
const channel = (set: string) => `update channels set ${set}`
const permit = (attempt: number) =>
  `insert into permits (request_id, channel_id, attempt, valid_until, is_probe)
   values (uuidv7(), uuidv7(), ${attempt}, now(), false)`
const conversation = (closedAt: string, closedBy: string) =>
  `insert into conversations (id, account_id, contact_type, contact_value, closed_at, closed_by)
   values (uuidv7(), uuidv7(), 'phone', '+4915112345678', ${closedAt}, ${closedBy})`
const callback = (columns: string, values: string) =>
  `insert into callbacks (endpoint_id, request_id, sequence, type, ${columns})
   values (uuidv7(), uuidv7(), 1, 'message.sent', ${values})`
const suppression = (cause: string) =>
  `insert into suppressions (id, account_id, contact_type, contact_value, cause)
   values (uuidv7(), uuidv7(), 'phone', '+4915112345678', '${cause}')`
const ceiling = (values: string) =>
  `insert into ceilings (owner_id, account_id, unit, period, amount, used) values (uuidv7(), uuidv7(), ${values})`
const ended = (status: string) => `status = '${status}', finished_at = now()`

/** Statements about one queued send and one channel: those that the check refuses, and similar ones that it allows. */
const cases: { name: string; refused: string[]; allowed: string[] }[] = [
  {
    name: 'sends_status',
    refused: [send(`status = 'parked'`), send(`status = ''`)],
    allowed: [send(ended('sent'))],
  },
  {
    name: 'sends_finished_at',
    refused: [
      send('finished_at = now()'),
      ...['sent', 'failed', 'uncertain', 'canceled'].map((status) => send(`status = '${status}'`)),
    ],
    allowed: ['sent', 'failed', 'uncertain', 'canceled'].map((status) => send(ended(status))),
  },
  {
    name: 'sends_claim',
    refused: [
      send(`status = 'sending', worker = 'a', claim_id = uuidv7()`),
      send(`status = 'sending', worker = 'a', claimed_at = now()`),
      send(`status = 'sending', claim_id = uuidv7(), claimed_at = now()`),
    ],
    allowed: [send(`status = 'sending', worker = 'a', claim_id = uuidv7(), claimed_at = now()`)],
  },
  {
    name: 'sends_attempt_record',
    refused: [send(`attempt_record = '{}'`)],
    allowed: [send(`attempt_record = '{}', ${ended('sent')}`)],
  },
  {
    name: 'sends_failure',
    refused: [send(`failure = 'x'`), send(`failure = 'x', ${ended('sent')}`)],
    allowed: ['failed', 'uncertain'].map((status) => send(`failure = 'x', ${ended(status)}`)),
  },
  {
    name: 'sends_attempts',
    refused: [send('attempt = -1'), send('attempts_before_replay = 1'), send('attempts_before_replay = -1')],
    allowed: [send('attempt = 1, attempts_before_replay = 1')],
  },
  {
    name: 'sends_delivery',
    refused: [
      send(`delivery = 'delivered', delivery_at = now()`),
      send(`delivery = 'lost', delivery_at = now(), ${ended('sent')}`),
      send(`delivery = 'read', ${ended('sent')}`),
      send(`delivery_at = now(), ${ended('sent')}`),
    ],
    allowed: deliveryStates.map((delivery) =>
      send(`delivery = '${delivery}', delivery_at = now(), ${ended('sent')}`),
    ),
  },
  { name: 'sends_losses', refused: [send('losses = -1')], allowed: [send('losses = 1')] },
  {
    name: 'channels_held',
    refused: [channel(`held_reason = 'x'`), channel('deleted_at = now()')],
    allowed: [channel('held_at = now()'), channel(`held_at = now(), held_reason = 'x', deleted_at = now()`)],
  },
  {
    name: 'channels_rate',
    refused: [channel('rate_calls = 1'), channel('rate_seconds = 1')],
    allowed: [channel('rate_calls = 1, rate_seconds = 1')],
  },
  {
    name: 'channels_limits',
    refused: [
      channel('rate_calls = 0, rate_seconds = 1'),
      channel('rate_calls = 1, rate_seconds = 0'),
      channel('max_in_flight = 0'),
      channel('expire_after_seconds = 0'),
    ],
    allowed: [channel('max_in_flight = 1'), channel('expire_after_seconds = 1')],
  },
  {
    name: 'channels_breaker',
    refused: [channel('breaker_openings = -1')],
    allowed: [channel('breaker_openings = 1')],
  },
  {
    name: 'channels_fallback',
    refused: [
      channel('fallback_channel_id = id'),
      channel('fallback_channel_id = uuidv7(), fallback_within_seconds = 0'),
      channel(`fallback_on = '{failed}'`),
      channel('fallback_within_seconds = 60'),
    ],
    allowed: [
      channel('fallback_channel_id = uuidv7()'),
      channel(`fallback_channel_id = uuidv7(), fallback_on = '{failed}', fallback_within_seconds = 60`),
    ],
  },
  {
    name: 'conversations_closed',
    refused: [conversation('null', 'uuidv7()')],
    allowed: [conversation('null', 'null'), conversation('now()', 'null'), conversation('now()', 'uuidv7()')],
  },
  {
    name: 'ceilings_kind',
    refused: [
      `'calls', 'day', 1, 0`,
      `'messages', 'week', 1, 0`,
      `'messages', 'day', 0, 0`,
      `'messages', 'day', 1, -1`,
    ].map(ceiling),
    allowed: [`'messages', 'hour', 1, 2`, `'segments', 'month', 1, 0`].map(ceiling),
  },
  { name: 'permits_attempt', refused: [permit(0)], allowed: [permit(1)] },
  {
    name: 'callbacks_given_up',
    refused: [callback('given_up', 'true')],
    allowed: [callback('given_up, finished_at', 'true, now()')],
  },
  {
    name: 'suppressions_cause',
    refused: [suppression('spam')],
    allowed: suppressionCauses.map(suppression),
  },
  {
    name: 'callbacks_tries',
    refused: [callback('tried_before_resend', '1'), callback('tried, tried_before_resend', '-1, -1')],
    allowed: [callback('tried, tried_before_resend', '1, 1')],
  },
]

/** @returns the name of the check that refuses the statement. */
async function refusalOf(statement: string): Promise<string | undefined> {
  const client = await service.runtime.db.$client.connect()
  try {
    await client.query('begin')
    const { rowCount } = await client.query(statement)
    expect(rowCount).toBe(1)
    return undefined
  } catch (error) {
    return error instanceof pg.DatabaseError ? error.constraint : Promise.reject(error)
  } finally {
    await client.query('rollback')
    client.release()
  }
}

test.each(cases)(
  '$name refuses the rows that contradict it, and no others',
  async ({ name, refused, allowed }) => {
    for (const statement of refused)
      expect([statement, await refusalOf(statement)]).toEqual([statement, name])
    for (const statement of allowed)
      expect([statement, await refusalOf(statement)]).toEqual([statement, undefined])
  },
)

test('each check of the schema has a case here, and is valid in the database', async () => {
  const tables = Object.values(schema).filter((value) => is(value, PgTable))
  const declared = tables.flatMap((table) => getTableConfig(table).checks.map(({ name }) => name))
  expect(cases.map(({ name }) => name).sort()).toEqual(declared.sort())
  const { rows } = await service.runtime.db.$client.query(
    `select conname as name, convalidated as "isValid" from pg_constraint
     where contype = 'c' and connamespace = current_schema()::regnamespace order by conname`,
  )
  expect(rows).toEqual(declared.map((name) => ({ name, isValid: true })))
})

/** A database before the migration of the checks, and without what came after it; with the given sends. */
async function olderDatabase(
  sends: readonly NewSend[] = [],
): Promise<{ databaseUrl: string; client: pg.Client }> {
  const databaseUrl = await freshDatabase()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  const db = connectDatabase(databaseUrl, { poolSize: 1, queryTimeoutMs: 20_000, onConnectionLost: () => {} })
  await insertSends(db, sends)
  await db.$client.end()
  await client.query(`
    do $$ declare one record; begin
      for one in select conrelid::regclass as tab, conname from pg_constraint
                 where contype = 'c' and connamespace = current_schema()::regnamespace
      loop execute format('alter table %s drop constraint %I', one.tab, one.conname); end loop;
    end $$`)
  await client.query(`delete from drizzle.__drizzle_migrations where id > 13;
    drop function fold_lane cascade;
    drop index sends_of_capitals, conversations_of_capitals;
    drop function count_send, count_scheduled_sends, counted_as, count_usage cascade;
    drop table send_count_changes, send_counts, failure_counts, counted_since, usage_counts, usage_costs, message_ids, early_receipts, ceilings;
    alter table sends drop column counted_as, drop column api_key_id;
    alter table api_keys drop column last_used_at;
    alter table permits drop column unused_since;
    drop table queue_shards;
    alter table channels drop column expects_receipts, drop column receipt_at, drop column awaits_receipt_since;
    alter table sends drop column delivery, drop column delivery_at, drop column receipt_keys, drop column pending_receipts;
    drop table scheduled_sends, provider_files;
    alter table idempotency_keys drop column batch;
    alter table sends drop column reference, drop column send_at,
      drop column expires_in_seconds, drop column metadata, drop column segments, drop column encoding, drop column costs,
      drop column channel_counted_at, drop column account_counted_at;
    drop index sends_of_account;
    drop table callbacks, endpoints, suppressions, suppression_checks, audit, refused_requests, person_sessions, people, people_since;
    drop function note_people;
    alter table channels drop column auto_suppress, drop column fallback_channel_id, drop column fallback_on,
      drop column fallback_within_seconds, drop column shown_config, drop column one_click, drop column countries;
    alter table sends alter column seq set generated always, drop column former_channels;
    alter table sends drop column change_number, drop column priority;
    alter table channels drop column urgent_in_a_row, drop column normal_in_a_row, drop column quiet_hours;
    drop table phone_zones;
    drop function quiet_end, quiet_zones, quiet_until, ceiling_start, ceiling_end, ceiling_size, passed_ceiling;
    drop type priority`)
  return { databaseUrl, client }
}

const conflicting = `update sends set status = 'sent' where request_id = $1`

test('a migration that waits for a table in use blocks others only briefly, and completes when the table is free', async () => {
  const { databaseUrl, client } = await olderDatabase()
  const reader = new pg.Client({ connectionString: databaseUrl })
  await reader.connect()
  onTestFinished(() => reader.end())
  await client.query('begin; lock table sends in row exclusive mode')
  const migrating = migrateDatabase(databaseUrl)
  const tookMs: number[] = []
  for (const end = performance.now() + 3000; performance.now() < end; await sleep(20)) {
    const { ms } = await timed(reader)
    tookMs.push(ms)
  }
  expect(Math.max(...tookMs)).toBeLessThan(1000)
  await client.query('commit')
  await migrating
  expect(await invalidChecks(client)).toEqual([])
})

test('a row that contradicts a check fails migrate with the name of the check, until it is fixed', async () => {
  const send = buildNewSend({ accountId: uuidv7(), channelId: uuidv7() })
  const { databaseUrl, client } = await olderDatabase([send])
  await client.query(conflicting, [send.requestId])
  await expect(migrateDatabase(databaseUrl)).rejects.toMatchObject({ constraint: 'sends_finished_at' })
  await client.query('update sends set finished_at = now() where request_id = $1', [send.requestId])
  await migrateDatabase(databaseUrl)
  expect(await invalidChecks(client)).toEqual([])
})

async function timed(client: pg.Client): Promise<{ ms: number }> {
  const begun = performance.now()
  await client.query('select from sends limit 1')
  return { ms: performance.now() - begun }
}

async function invalidChecks(client: pg.Client): Promise<unknown[]> {
  const { rows } = await client.query(
    `select name from unnest($1::text[]) name
     where not exists (select from pg_constraint where conname = name and convalidated)`,
    [cases.map(({ name }) => name)],
  )
  return rows
}
