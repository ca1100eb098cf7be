import { v7 as uuidv7 } from 'uuid'
import type { Database } from '../../../db/connection/client.ts'
import { isoText } from '../../../db/statement.ts'
import { keyPrefix, overflowQueueName, queueName } from '../../../src/core/sends/send-job.ts'
import { addWakeUps, createQueue } from '../../../src/queue/queue.ts'
import type { Stage } from '../stage.ts'

export interface Past {
  /** Sends that ended within the last 30 days. */
  finished: number
  /** Sends that wait for a retry, within the quota of the ordinary queue. */
  waiting: number
}

const days = 30
const accounts = 2500
const channels = 7500
const sendsOfContact = 5
/** The longest of the service's delays, so that none falls due during a measurement. */
const retryInMs = 7_200_000
const sendsAtOnce = 100_000
const wakeUpsAtOnce = 1000
const keysAtOnce = 10_000

/** SQL of an id like the service's, which begins with its time. */
const idAt = (moment: string) => `
  overlay(gen_random_uuid()::text
          placing lpad(to_hex((extract(epoch from ${moment}) * 1000)::bigint), 12, '0') || '-7' from 1 for 15)::uuid`

/**
 * Gives the stage a history of other accounts and channels, with rows like those of the service.
 *
 * @returns the stage; its `clear` removes only later sends.
 */
export async function withPast(stage: Stage, past: Past, print: (progress: string) => void): Promise<Stage> {
  const startedAt = performance.now()
  await makeRows(stage.db, past)
  await wakeLater(stage)
  const kept = await withItsRows(stage)
  const seconds = (performance.now() - startedAt) / 1000
  print(`${past.finished} finished and ${past.waiting} waiting sends written in ${seconds.toFixed(0)} s`)
  return kept
}

/** The stage, whose `clear` removes only what comes later. */
export async function withItsRows(stage: Stage): Promise<Stage> {
  await stage.db.$client.query('vacuum analyze')
  await stage.db.$client.query('checkpoint')
  const since = uuidv7()
  const keys = new Set(await stage.redis.keys('*'))
  return {
    ...stage,
    async clear() {
      await Promise.all(stage.workers().map(stage.killWorker))
      await forgetRows(stage.db, since)
      const came = (await stage.redis.keys('*')).filter((key) => !keys.has(key))
      for (const some of chunks(came, keysAtOnce)) await stage.redis.unlink(...some)
      await stage.provider.forget()
      await stage.db.$client.query('checkpoint')
    },
  }
}

async function makeRows(db: Database, { finished, waiting }: Past): Promise<void> {
  // On one connection, because its temporary tables hold the basis of the rows.
  const client = await db.$client.connect()
  try {
    const contacts = Math.max(Math.ceil(finished / sendsOfContact), waiting)
    await client.query(channelsOfPast)
    await client.query(contactsOfPast, [contacts])
    await client.query(contactsInOrder)
    for (let first = 0; first < finished; first += sendsAtOnce) {
      await client.query(finishedSends, [first, Math.min(first + sendsAtOnce, finished), finished, contacts])
    }
    await client.query(waitingSends, [waiting, retryInMs])
  } finally {
    // Closes the connection, and thereby drops its temporary tables.
    client.release(true)
  }
}

const channelsOfPast = `
  create temp table past_accounts as
  select nr, ${idAt('made_at')} as account_id, made_at
  from generate_series(0, ${accounts - 1}) nr, (select now() - interval '${days} days' as made_at) past;
  create temp table past_channels as
  select channel.nr, ${idAt('made_at')} as channel_id, account_id, made_at
  from generate_series(0, ${channels - 1}) channel (nr)
  join past_accounts on past_accounts.nr = channel.nr % ${accounts};
  insert into accounts (id, name, created_at)
  select account_id, 'Past', made_at from past_accounts order by nr;
  insert into channels (id, account_id, provider, name, sealed_config, on_uncertain, created_at)
  select channel_id, account_id, 'webhook', 'Past', 'never opened', 'resend', made_at from past_channels order by nr;
  create temp table past_contacts (
    nr int, account_id uuid, channel_id uuid, value text, lane bigint, conversation_id uuid, opened_at timestamptz)`

/** Contacts with one channel each, and the conversation that their first send opened. */
const contactsOfPast = `
  with contacts as (
    insert into past_contacts
    select nr, account_id, channel_id, value,
           hashtextextended(concat(channel_id, ' phone ', value), 0), ${idAt('opened_at')}, opened_at
    from (select contact.nr, account_id, channel_id, '+33' || lpad(contact.nr::text, 9, '0') as value,
                 made_at + contact.nr * interval '${days} days' / ${sendsOfContact} / $1::int as opened_at
          from generate_series(0, $1::int - 1) contact (nr)
          join past_channels on past_channels.nr = contact.nr % ${channels}) one
    returning *)
  insert into conversations (id, account_id, contact_type, contact_value, opened_at)
  select conversation_id, account_id, 'phone', value, opened_at from contacts order by nr`

const contactsInOrder = 'create index on past_contacts (nr)'

const columns = `
  request_id, account_id, channel_id, contact_type, contact_value, message_type, message, close_conversation, lane,
  conversation_id, status, accepted_at, next_attempt_at, finished_at, attempt, worker, claim_id, claimed_at,
  attempt_record, failure`
const message = `'{"type": "text", "text": {"value": "Hello"}}'::jsonb`
const worker = `'past-1-${'0'.repeat(6)}'`

const attemptRecord = (attempt: string, outcome: string, status: string) => `
  json_build_object('attempt', ${attempt}, 'outcome', ${outcome}, 'durationMs', 20, 'providerStatus', ${status},
                    'providerCode', null, 'providerMessageId', null)`

/** SQL that inserts the events of a first attempt and its retry for the sends `made`. */
const insertFirstAttempts = `
  insert into send_events (request_id, at, event, fields)
  select request_id, accepted_at + first_attempt.after * interval '1 ms', first_attempt.event, first_attempt.fields
  from made cross join lateral (values
    (10, 'attempt_started', json_build_object('attempt', 1, 'worker', ${worker})),
    (30, 'attempt_finished', ${attemptRecord('1', `'retry_later'`, '503')}),
    (30, 'retry_scheduled', json_build_object('reason', 'the receiver answered 503', 'nextAttemptAt', ${isoText('next_attempt_at')}))
  ) as first_attempt (after, event, fields)`

/** One in 97 was rejected, and one in 53 was sent at its second attempt. These are primes, so that every channel has such sends. */
const finishedSends = `
  with made as (
    insert into sends (${columns})
    select ${idAt('at')}, account_id, channel_id, 'phone', value, 'text', ${message}, false, lane, conversation_id,
           case when is_rejected then 'failed' else 'sent' end, at, due_at, due_at + interval '30 ms', attempt, ${worker},
           ${idAt('due_at')}, due_at + interval '10 ms',
           case when is_rejected then ${attemptRecord('attempt', `'rejected'`, '400')}
                else ${attemptRecord('attempt', `'sent'`, '200')} end,
           case when is_rejected then 'the receiver answered 400' end
    from (select number, contact.*, now() - interval '${days} days' * (1 - number::float8 / $3::int) as at,
                 number % 97 = 0 as is_rejected, case when number % 53 = 1 then 2 else 1 end as attempt
          from generate_series($1::int, $2::int - 1) number
          join past_contacts contact on contact.nr = number % $4::int) one,
         lateral (select at + (attempt - 1) * interval '1 s' as due_at) two
    order by number
    returning request_id, accepted_at, next_attempt_at, attempt)
  ${insertFirstAttempts}
  where made.attempt > 1`

/** Sends accepted within the last hour, each to another contact. */
const waitingSends = `
  with made as (
    insert into sends (${columns})
    select ${idAt('at')}, account_id, channel_id, 'phone', value, 'text', ${message}, false, lane, conversation_id,
           'queued', at, now() + $2 * interval '1 ms', null, 1, ${worker}, ${idAt('at')}, null, null, null
    from (select *, now() - interval '1 hour' * (1 - nr::float8 / $1::int) as at
          from past_contacts where nr < $1::int) one
    order by nr
    returning request_id, accepted_at, next_attempt_at)
  ${insertFirstAttempts}`

/** Adds their wake-ups like the worker that made their first attempt. */
async function wakeLater({ db, redis }: Stage): Promise<void> {
  const { rows } = await db.$client.query<{ requestId: string; inMs: number }>(
    `select request_id as "requestId", ceil(extract(epoch from next_attempt_at - now()) * 1000)::float8 as "inMs"
     from sends where finished_at is null order by seq`,
  )
  const [queue, overflow] = [queueName, overflowQueueName].map((name) => createQueue(name, keyPrefix, redis))
  if (!queue || !overflow) return
  for (const some of chunks(rows, wakeUpsAtOnce))
    await addWakeUps({ prefix: keyPrefix, redis, queue, overflow }, some)
}

/** Removes rows and vacuums at once. Otherwise dead rows would accumulate from one measurement to the next. */
async function forgetRows(db: Database, since: string): Promise<void> {
  const written = {
    sends: 'request_id',
    send_events: 'request_id',
    permits: 'request_id',
    conversations: 'id',
  }
  for (const [table, key] of Object.entries(written)) {
    await db.$client.query(`delete from ${table} where ${key} > $1`, [since])
    await db.$client.query(`vacuum (index_cleanup on) ${table}`)
  }
  await db.$client.query('truncate workers')
}

function chunks<T>(items: readonly T[], size: number): T[][] {
  const count = Math.ceil(items.length / size)
  return Array.from({ length: count }, (_, index) => items.slice(index * size, (index + 1) * size))
}
