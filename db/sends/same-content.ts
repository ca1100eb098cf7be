import { erasedContactValue } from '../../src/core/contact.ts'
import type { SendRecord, SendStatus } from '../../src/core/timeline.ts'
import { idempotencyKeptHours } from '../admission/idempotency-keys.ts'
import type { Database } from '../client.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { listSends } from './list.ts'

/** A send, and what is known of the Idempotency-Key that it was posted with. */
export interface KeyedSend {
  requestId: string
  acceptedAt: Date
  status: SendStatus
  /** The beginning of the key's hash; null if it had none. */
  keyHash: string | null
  /** Whether its key, if it had one, would still be there. */
  isKeyKept: boolean
}

export interface SameContent {
  /** The other sends to the contact with the same content within a day, newest first, and the send itself. */
  sends: KeyedSend[]
  /** Whether all sends to the contact of these days were compared. */
  isAll: boolean
}

const dayMs = 86_400_000
const maxCompared = 100
const maxShown = 10
/** A key is stored by the statement that accepts its send. */
const keyWithinSeconds = 2

/** A template is registered anew at a fallback. */
const content = `message #- '{template,definition}'`

/** The time of a key is that of its send, or when that is to be sent. */
const sameStatement = prepared<KeyedSend>(
  'same_content',
  'Finds those of some sends that have the same content as one, with their Idempotency-Keys.',
  sqlText`
    -- $1: the sends; $2: the one.
    with
    compared as materialized (
      select request_id, accepted_at, status,
             ${content} as message, greatest(accepted_at, send_at) as key_at
      from sends where ${isGiven('request_id')}
      union all
      select request_id, accepted_at, 'queued', ${content}, greatest(accepted_at, send_at)
      from scheduled_sends where ${isGiven('request_id')})
    select s.request_id as "requestId", s.accepted_at as "acceptedAt", s.status,
           left(encode(k.hash, 'hex'), 8) as "keyHash",
           s.key_at > clock_timestamp() - interval '${idempotencyKeptHours} hours' as "isKeyKept"
    from (
      select s.* from compared s join compared one on one.request_id = $2 and one.message = s.message
      order by s.request_id <> $2, s.accepted_at desc limit ${maxShown + 1}) s
      left join lateral (
        select hash from idempotency_keys
        where created_at between s.key_at - interval '${keyWithinSeconds} s' and s.key_at + interval '${keyWithinSeconds} s'
          and (request_id = s.request_id or s.request_id = any(batch))
        limit 1) k on true
    order by s.accepted_at desc`,
)

/**
 * The sends to the contact of a send, in its account, that have the same content and were accepted within a day before or after it.
 * Of media, the description is compared, not the bytes.
 */
export async function sameContentNear(
  db: Database,
  { requestId, acceptedAt, contactType, contactValue }: SendRecord,
  accountId: string,
): Promise<SameContent> {
  if (contactValue === erasedContactValue) return { sends: [], isAll: true }
  const at = acceptedAt.getTime()
  const { sends, next } = await listSends(db, accountId, {
    limit: maxCompared,
    contact: { type: contactType, value: contactValue },
    acceptedFrom: new Date(at - dayMs),
    acceptedTo: new Date(at + dayMs),
  })
  const ids = [...new Set([requestId, ...sends.map((send) => send.requestId)])]
  const same = ids.length > 1 ? await sameStatement(db, [ids, requestId]) : []
  return { sends: same.length > 1 ? same : [], isAll: next === undefined }
}
