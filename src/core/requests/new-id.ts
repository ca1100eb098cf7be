import { randomFillSync } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

const idBytes = 16
/** Random bytes are requested for this many ids at once, because a request costs far more than the bytes. */
const idsPerFill = 256

const pool = Buffer.allocUnsafe(idBytes * idsPerFill)
let used = pool.length

/** A fast UUIDv7. Ids of the same millisecond are in no order. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + idBytes)
  used += idBytes
  return uuidv7({ random })
}
