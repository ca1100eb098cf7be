import { randomFillSync } from 'node:crypto'
import { v7 as uuidv7 } from 'uuid'

const idBytes = 16
/** So many ids' worth of random bytes are asked for at once: asking costs far more than an id's bytes. */
const idsPerFill = 256

const pool = Buffer.allocUnsafe(idBytes * idsPerFill)
let used = pool.length

/** A UUIDv7, for where many are needed a second. Those of one millisecond are in no order. */
export function newId(): string {
  if (used === pool.length) {
    randomFillSync(pool)
    used = 0
  }
  const random = pool.subarray(used, used + idBytes)
  used += idBytes
  return uuidv7({ random })
}
