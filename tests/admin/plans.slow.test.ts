import { v7 as uuidv7 } from 'uuid'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase, type Database } from '../../db/connection/client.ts'
import { contactOf } from '../../db/look-up/contact-of.ts'
import {
  targetsNamedIn,
  targetsOfContacts,
  targetsWithIds,
  targetsWithReferences,
} from '../../db/look-up/targets.ts'
import { findLastFailures, listChannels } from '../../db/overview/channels.ts'
import { findPostedBy, sameContentNear } from '../../db/sends/same-content.ts'
import { findSend } from '../../db/sends/sends.ts'
import { shownSuppressions } from '../../db/suppression/shown-entries.ts'
import { type Account, buildAccount } from '../support/builders.ts'
import { rowsRead } from '../support/rows-read.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

const pageSize = 50
/** Sends of each channel. */
const failed = 300
const retried = 300
/** Further sends of one channel. */
const waiting = 5000
/** Sends of one contact, with one reference, accepted at about the same time. */
const ofContact = 2500
const manySuppressions = 30_000
const contact = '+4915112345678'

let service: TestService
let account: Account
let channelIds: string[]
let sendIds: string[]
const connections: Database[] = []

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
  account = await buildAccount(service)
  await grow()
  await service.runtime.db.$client.query('vacuum analyze')
})
afterAll(async () => {
  for (const { $client } of connections) await $client.end()
  await service.stop()
})

function connect(mode: string): Database {
  const url = new URL(service.stores.databaseUrl)
  url.searchParams.set('options', `-c plan_cache_mode=${mode}`)
  const options = { poolSize: 1, queryTimeoutMs: 60_000, onConnectionLost: () => {} }
  const db = connectDatabase(url.href, options)
  connections.push(db)
  return db
}

async function grow(): Promise<void> {
  const { $client } = service.runtime.db
  const { accountId } = account
  const ids = async (statement: string, values: unknown[]) =>
    (await $client.query<{ id: string }>(statement, values)).rows.map(({ id }) => id)
  channelIds = await ids(
    `insert into channels (id, account_id, provider, name, sealed_config, on_uncertain)
     select uuidv7(), $1, 'sandbox', 'Channel ' || n, '', 'hold' from generate_series(1, ${pageSize}) n returning id`,
    [accountId],
  )
  const columns = `request_id, account_id, channel_id, contact_type, contact_value, message_type, message, close_conversation,
                   reference, attempt, status, finished_at, failure, counted_as, next_attempt_at`
  const values = `'text', '{"type": "text", "text": {"value": "Hello"}}', false`
  await $client.query(
    `insert into sends (${columns})
     select uuidv7(), $1, c.id, 'phone', '+49' || n, ${values}, 'order ' || n, 1, 'failed', now(), 'refused', 'failed//', now()
     from unnest($2::uuid[]) c (id), generate_series(1, ${failed}) n order by n`,
    [accountId, channelIds],
  )
  await $client.query(
    `with retried as (
       insert into sends (${columns})
       select uuidv7(), $1, c.id, 'phone', '+48' || n, ${values}, null, 1, 'queued', null, null, 'waiting', now() + n * interval '1 s'
       from unnest($2::uuid[]) c (id), generate_series(1, ${retried}) n order by n returning request_id)
     insert into send_events (request_id, event, fields)
     select request_id, 'attempt_finished', '{"outcome": "retry_later"}' from retried`,
    [accountId, channelIds],
  )
  await $client.query(
    `insert into sends (${columns})
     select uuidv7(), $1, $2, 'phone', '+46' || n, ${values}, null, 0, 'queued', null, null, 'waiting', now()
     from generate_series(1, ${waiting}) n`,
    [accountId, channelIds[0]],
  )
  sendIds = await ids(
    `insert into sends (${columns})
     select uuidv7(), $1, $2, 'phone', $3, ${values}, 'hot', 1, 'sent', now(), null, 'sent', now()
     from generate_series(1, ${ofContact}) n returning request_id as id`,
    [accountId, channelIds[0], contact],
  )
  await $client.query(
    `insert into idempotency_keys (hash, fingerprint, request_id, batch, created_at)
     select decode(lpad(to_hex(n), 8, '0'), 'hex'), '', uuidv7(), case when n % 2 = 0 then array[uuidv7(n * interval '-2 s'), uuidv7()] end,
            now() - n * interval '2 s'
     from generate_series(1, 20000) n`,
  )
  await $client.query(
    `insert into suppressions (id, account_id, contact_type, contact_value, cause)
     select uuidv7(), case when n % 10 = 0 then $1 else md5((n % 10)::text)::uuid end, 'phone', '+47' || n, 'manual'
     from generate_series(1, ${manySuppressions}) n`,
    [accountId],
  )
}

type Reading = [name: string, work: (db: Database) => Promise<unknown>, limits: Record<string, number>]

const none = '01a1fde1-ea47-76ae-9a8d-559e0203a63f'
const sameContent = async (db: Database, requestId: string) => {
  const found = await findSend(db, requestId)
  return found && (await sameContentNear(db, found.send, account.accountId))
}

/** The queries of the console's pages, and how many rows of each table they may read. */
const readings: Reading[] = [
  [
    'a page of channels, with what waits of each',
    (db) => listChannels(db, {}, { limit: pageSize }),
    { sends: 1001 + pageSize * retried, channels: 4 * pageSize },
  ],
  [
    'what the channels of a page last answered',
    (db) => findLastFailures(db, channelIds),
    { sends: pageSize * 200, send_events: pageSize * 100 },
  ],
  ['ids', (db) => targetsWithIds(db, [none, ...sendIds.slice(0, 9)]), { sends: 10, suppressions: 1 }],
  ['a contact', (db) => targetsOfContacts(db, [contact]), { sends: 2000, suppressions: 1 }],
  ['a contact with a suppression', (db) => targetsOfContacts(db, ['+4710']), { sends: 0, suppressions: 1 }],
  ['a reference', (db) => targetsWithReferences(db, ['hot']), { sends: 2 * 21 }],
  ['several references', (db) => targetsWithReferences(db, ['none', 'order 7']), { sends: 2 * 21 }],
  ['a name', (db) => targetsNamedIn(db, 'Channel 7'), { sends: 0, suppressions: 0 }],
  ['a send’s contact', (db) => contactOf(db, 'requestId', sendIds[0] ?? ''), { sends: 1 }],
  ['a page of suppressions', (db) => page(db, {}), { suppressions: pageSize + 1 }],
  ['a cause that no suppression has', (db) => page(db, { cause: 'complaint' }), { suppressions: 1001 }],
  [
    'sends of the same content',
    (db) => sameContent(db, sendIds.at(-1) ?? ''),
    { sends: ofContact + 300, idempotency_keys: 200 },
  ],
  ['how a send was posted', (db) => findPostedBy(db, sendIds[0] ?? ''), { sends: 2, idempotency_keys: 50 }],
]

const page = (db: Database, filter: { cause?: 'complaint' }) =>
  shownSuppressions(db, account.accountId, { limit: pageSize, before: uuidv7(), ...filter }, 500)

test.each(['force_custom_plan', 'force_generic_plan'])(
  'with %s, the statements of the console read few of many rows',
  async (mode) => {
    const db = connect(mode)
    for (const [name, work, limits] of readings)
      for (const [table, limit] of Object.entries(limits))
        expect([name, table, await rowsRead(db, () => work(db), table)]).toEqual([
          name,
          table,
          expect.toSatisfy((read) => read <= limit),
        ])
  },
)
