import { erasedContactValue } from '../../src/core/contacts/contact.ts'
import { dayMs } from '../../src/core/durations.ts'
import type { PostedBy } from '../../src/core/sends/posted-by.ts'
import type { SendRecord, SendStatus } from '../../src/core/sends/timeline.ts'
import { firstsOfBatches, idempotencyKeptHours, timeOfKey } from '../admission/idempotency-keys.ts'
import type { Database } from '../connection/client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { listSends } from './list.ts'

/** A send, and what is known of how it was posted. */
export interface PostedSend extends PostedBy {
  requestId: string
  acceptedAt: Date
  status: SendStatus
}

export interface SameContent {
  /** The send itself. */
  itself: PostedSend
  /** The other sends to the contact with the same content within a day, newest first, and the send itself; empty without others. */
  sends: PostedSend[]
  /** Whether all sends to the contact of these days were compared. */
  isAll: boolean
}

const maxCompared = 100
const maxShown = 10
/** A key is stored by the statement that accepts its send. */
const keyWithinSeconds = 2

/** A template is registered anew at a fallback. From a damaged message that is no object, PostgreSQL removes nothing: it fails. */
const content = sqlText`
  case jsonb_typeof(message)
    when 'object' then message #- '{template,definition}' else message end`

const sameStatement = prepared<PostedSend>(
  'same_content',
  'Finds those of some sends that have the same content as one, with their API keys and Idempotency-Keys.',
  sqlText`
    -- $1: the sends; $2: the one; $3: the first id that the first send of each
    -- send's batch may have; $4: the last.
    with
    compared as materialized (
      select request_id, accepted_at, status, api_key_id,
             ${content} as message, send_at
      from sends where ${isGiven('request_id')}
      union all
      select request_id, accepted_at, 'queued', api_key_id,
             ${content}, send_at
      from scheduled_sends where ${isGiven('request_id')})
    select s.request_id as "requestId", s.accepted_at as "acceptedAt", s.status,
           s.api_key_id as "apiKeyId", a.display_prefix as "apiKeyPrefix",
           left(encode(k.hash, 'hex'), 8) as "idempotencyHash", k.batch is not null as "isBatch",
           key_at > clock_timestamp() - interval '${idempotencyKeptHours} hours' as "isIdempotencyKept"
    from (
      select s.* from compared s join compared asked on asked.request_id = $2 and asked.message = s.message
      order by s.request_id <> $2, s.accepted_at desc limit ${maxShown + 1}) s
      left join api_keys a on a.id = s.api_key_id
      cross join lateral (select ${timeOfKey('s')} as key_at) stored
      left join unnest($1::uuid[], $3::uuid[], $4::uuid[]) as one (id, earliest, latest) on one.id = s.request_id
      left join lateral (
        select hash, batch from idempotency_keys
        where created_at between key_at - interval '${keyWithinSeconds} s' and key_at + interval '${keyWithinSeconds} s'
          and request_id = s.request_id
        union all
        select hash, batch from idempotency_keys
        where batch is not null and batch[1] between one.earliest and one.latest and s.request_id = any(batch)
        limit 1) k on true
    order by s.accepted_at desc`,
)

/**
 * The sends to the contact of a send, in its account, that have the same content and were accepted within a day before or after it.
 * The description of media is compared, not the bytes.
 */
export async function sameContentNear(
  db: Database,
  { requestId, acceptedAt, contactType, contactValue }: SendRecord,
  accountId: string,
): Promise<SameContent | undefined> {
  if (contactValue === erasedContactValue) {
    const itself = await findPostedBy(db, requestId)
    return itself && { itself, sends: [], isAll: true }
  }
  const at = acceptedAt.getTime()
  const { sends, next } = await listSends(db, accountId, {
    limit: maxCompared,
    contact: { type: contactType, value: contactValue },
    acceptedFrom: new Date(at - dayMs),
    acceptedTo: new Date(at + dayMs),
  })
  const ids = [...new Set([requestId, ...sends.map((send) => send.requestId)])]
  const same = await postedSends(db, ids, requestId)
  const itself = same.find((send) => send.requestId === requestId)
  return itself && { itself, sends: same.length > 1 ? same : [], isAll: next === undefined }
}

/** How a send was posted; undefined if there is no such send. */
export async function findPostedBy(db: Database, requestId: string): Promise<PostedSend | undefined> {
  return (await postedSends(db, [requestId], requestId))[0]
}

function postedSends(db: Database, ids: readonly string[], requestId: string): Promise<PostedSend[]> {
  const { earliest, latest } = firstsOfBatches(ids)
  return sameStatement(db, [ids, requestId, earliest, latest])
}
