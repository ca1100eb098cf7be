import { LRUCache } from 'lru-cache'
import { recordAudit } from '../../../db/audit/record.ts'
import type { AdminRuntime } from '../context.ts'

const recordedAgainAfterMs = 60_000
/** The most rows of all names and addresses, in that time: a flood of guesses must not fill the audit. */
const mostRows = 30

interface Refused {
  /** As the person was added; undefined if there is no such person: what was typed may be a password. */
  name: string | undefined
  address: string
  reason: string
}

/** Creates the function that records a refused sign-in: once a minute for a person and an address. The next row counts those left out. */
export function createRecordRefusedSignIn({ db }: Pick<AdminRuntime, 'db'>) {
  const recent = new LRUCache<string, true>({ max: mostRows * 2, ttl: recordedAgainAfterMs })
  let leftOut = 0
  return async ({ name, address, reason }: Refused): Promise<void> => {
    recent.purgeStale()
    const key = JSON.stringify([name, address, reason])
    if (recent.has(key) || recent.size >= mostRows) {
      leftOut++
      return
    }
    recent.set(key, true)
    const details = { reason, ...(leftOut > 0 && { leftOutBefore: leftOut }) }
    leftOut = 0
    const by = name ?? 'unknown'
    await recordAudit(db, { by, via: 'page', address, action: 'person.sign_in_refused', target: by, details })
  }
}
