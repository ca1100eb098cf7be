import { readFileSync } from 'node:fs'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { migrateDatabase } from '../../db/migrate.ts'
import { freshDatabase } from '../support/stores.ts'

const [accountId, channelId] = [uuidv7(), uuidv7()]
const { entries } = JSON.parse(readFileSync('db/migrations/meta/_journal.json', 'utf8')) as {
  entries: { tag: string; when: number }[]
}
/** When the migration was written that joins spellings. */
const joinedAt = entries.find(({ tag }) => tag === '0032_contacts_without_case')?.when
const spellings = ['Ann@example.com', 'ann@example.com', 'ANN@example.com'] as const

/** A database of the release that compared contacts as they are written. */
async function formerDatabase() {
  const databaseUrl = await freshDatabase()
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  onTestFinished(() => client.end())
  await client.query(`
    delete from drizzle.__drizzle_migrations where created_at >= ${joinedAt};
    drop function fold_lane cascade;
    drop index sends_of_capitals, scheduled_sends_of_capitals, conversations_of_capitals, suppressions_of_key;
    alter table suppressions drop column contact_key;
    alter table scheduled_sends drop column expires_in_seconds, drop column metadata, drop column segments, drop column encoding,
      drop column priority;
    alter table sends drop column expires_in_seconds, drop column metadata, drop column segments, drop column encoding,
      drop column priority, drop column costs, drop column channel_counted_at, drop column account_counted_at;
    alter table callbacks drop column data;
    drop table ceilings;
    drop function ceiling_start, ceiling_end, ceiling_size, passed_ceiling;
    alter table channels drop column one_click, drop column countries, drop column urgent_in_a_row, drop column normal_in_a_row, drop column quiet_hours;
    drop table phone_zones;
    alter table person_sessions drop column session_id, drop column begun_at, drop column used_at, drop column address;
    drop function quiet_end, quiet_zones, quiet_until;
    drop function count_usage cascade;
    drop trigger count_inserted on sends;
    alter table send_count_changes drop column segments, drop column priority, drop column currency, drop column amount;
    drop table provider_files, usage_counts, usage_costs, message_ids, early_receipts;
    drop type priority;`)
  return { client, migrate: () => migrateDatabase(databaseUrl) }
}

/** As the former release accepts: in the lane of this spelling. */
async function acceptFormerly(client: pg.Client, value: string, type = 'email'): Promise<string> {
  const requestId = uuidv7()
  await client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                        close_conversation, lane)
     values ($1, $2, $3, $4, $5, 'text', '{"type": "text", "text": {"value": "Hello"}}', false, $6)`,
    [requestId, accountId, channelId, type, value, await laneOf(client, value, type)],
  )
  return requestId
}

const lanes = async (client: pg.Client) =>
  (await client.query<{ lane: string }>('select distinct lane from sends')).rows.map(({ lane }) => lane)

const laneOf = async (client: pg.Client, value: string, type = 'email') =>
  (
    await client.query<{ lane: string }>(
      `select hashtextextended(concat($1::text, ' ', $2::text, ' ', $3::text), 0) as lane`,
      [channelId, type, value],
    )
  ).rows[0]?.lane

test('what one person has in several spellings is joined: the newest conversation stays open, waiting sends have one lane', async () => {
  const { client, migrate } = await formerDatabase()
  const conversations = spellings.map(() => uuidv7())
  for (const [place, value] of spellings.entries()) {
    await acceptFormerly(client, value)
    await client.query(
      `insert into conversations (id, account_id, contact_type, contact_value) values ($1, $2, 'email', $3)`,
      [conversations[place], accountId, value],
    )
    await client.query(
      `insert into suppressions (id, account_id, contact_type, contact_value, cause) values ($1, $2, 'email', $3, 'manual')`,
      [uuidv7(), accountId, value],
    )
  }
  await client.query(
    `insert into conversations (id, account_id, contact_type, contact_value)
     values ($1, $2, 'email', 'Bob@example.com'), ($3, $2, 'phone', '+4915112345678')`,
    [uuidv7(), accountId, uuidv7()],
  )
  expect(await lanes(client)).toHaveLength(3)
  await migrate()
  expect(await lanes(client)).toEqual([await laneOf(client, 'ann@example.com')])
  const open = await client.query(
    'select contact_value as value, id from conversations where closed_at is null order by contact_value collate "C"',
  )
  expect(open.rows).toEqual([
    { value: '+4915112345678', id: expect.any(String) },
    { value: spellings[2], id: conversations[2] },
    { value: 'Bob@example.com', id: expect.any(String) },
  ])
  const values = await client.query('select contact_value as value from suppressions order by id')
  expect(values.rows.map(({ value }) => value)).toEqual(spellings)
})

test('what the former release accepts beside this one goes into the lane of all spellings, and a lane of its own stays', async () => {
  const { client, migrate } = await formerDatabase()
  await migrate()
  for (const value of spellings) await acceptFormerly(client, value)
  expect(await lanes(client)).toEqual([await laneOf(client, 'ann@example.com')])
  await client.query('delete from sends')
  await acceptFormerly(client, '+4915112345678', 'phone')
  expect(await lanes(client)).toEqual([await laneOf(client, '+4915112345678', 'phone')])
})
