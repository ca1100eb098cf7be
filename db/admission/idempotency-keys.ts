import type { Database } from '../client.ts'
import { prepared, sqlText } from '../statement.ts'

export const idempotencyKeptHours = 24

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
export function findIdempotencyKeys(db: Database, hashes: readonly string[]): Promise<KeptKey[]> {
  return findStatement(db, [JSON.stringify(hashes)])
}
