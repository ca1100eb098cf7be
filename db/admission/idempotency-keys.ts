import { firstIdAt, madeAtMs } from '../../src/core/requests/record-id.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

export const idempotencyKeptHours = 24

/** The ids of a batch are made within this time. */
const batchWithinMs = 10_000

/**
 * For each send, the ids between which the first send of its batch is. The key of a batch is found by that one. The key's time may
 * differ from that of the send.
 */
export const firstsOfBatches = (requestIds: readonly string[]) => ({
  earliest: requestIds.map((id) => firstIdAt(madeAtMs(id) - batchWithinMs)),
  latest: requestIds.map((id) => firstIdAt(madeAtMs(id) + batchWithinMs)),
})

/**
 * The time of a send's Idempotency-Key: that of its accept or, if it was scheduled, the time that it was accepted for. What a
 * client moved it to later is not in it. @param send the alias of a row of sends or scheduled_sends.
 */
export const timeOfKey = (send: string) => `
  greatest(${send}.accepted_at, coalesce(
    (select (e.fields->>'sendAt')::timestamptz from send_events e
     where e.request_id = ${send}.request_id and e.event = 'scheduled' order by e.at limit 1),
    ${send}.send_at))`

/** A stored Idempotency-Key and its send. */
export interface KeptKey {
  /** In hex, like the fingerprint. */
  hash: string
  fingerprint: string
  requestId: string
  /** The sends of a batch; null for a single send. */
  batch: string[] | null
}

const findStatement = prepared<KeptKey>(
  'find_idempotency_keys',
  'Finds the sends of Idempotency-Keys.',
  sqlText`
    select encode(hash, 'hex') as hash, encode(fingerprint, 'hex') as fingerprint, request_id as "requestId",
           batch
    from idempotency_keys
    where hash = any(array(select decode(hex, 'hex') from json_array_elements_text($1) as hex))
      and created_at >= clock_timestamp() - interval '${idempotencyKeptHours} hours'`,
)

/** @param hashes in hex. Unknown ones are missing from the result. */
export function findIdempotencyKeys(
  db: Database | Transaction,
  hashes: readonly string[],
): Promise<KeptKey[]> {
  return findStatement(db, [JSON.stringify(hashes)])
}

/** Both in hex. */
export type KeyToTake = Pick<KeptKey, 'hash' | 'fingerprint'>

export async function isKeyTaken(db: Database | Transaction, hash: string): Promise<boolean> {
  return (await findIdempotencyKeys(db, [hash])).length > 0
}

const takeStatement = prepared(
  'take_idempotency_key',
  'Stores the Idempotency-Key of a request that is no send, unless it is taken.',
  sqlText`
    -- $1: the hash of the key; $2: that of the request; $3: what the request made.
    insert into idempotency_keys as kept (hash, fingerprint, request_id)
    values (decode($1, 'hex'), decode($2, 'hex'), $3)
    on conflict (hash) do update
    set fingerprint = excluded.fingerprint, request_id = excluded.request_id, batch = null, created_at = excluded.created_at
    where kept.created_at < clock_timestamp() - interval '${idempotencyKeptHours} hours'
    returning 1`,
)

/** @returns whether it was free, or its last use has expired. */
export async function takeIdempotencyKey(
  transaction: Transaction,
  { hash, fingerprint }: KeyToTake,
  requestId: string,
): Promise<boolean> {
  return (await takeStatement(transaction, [hash, fingerprint, requestId])).length === 1
}
