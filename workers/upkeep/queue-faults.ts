import { LRUCache } from 'lru-cache'
import { type Logger, logWarning } from '../../src/platform/logger.ts'
import { tryAgainAfterMs } from '../steady-worker.ts'

/** So long after its last fault a wake-up has surely left the queue, and its send may have another one. */
const rememberedForMs = 60_000
const rememberedJobs = 10_000

/** Redis answers, but takes no writes: each try gets the same answer until somebody has changed that. */
const refusal = /\b(READONLY|MISCONF|OOM|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|LOADING|NOPERM|NOAUTH|UNBLOCKED)\b/
/** One that is short of memory refuses some writes and takes others: it takes them again when none was refused for so long. */
const takesAgainAfterMs = 5000
const jobIn = /\bjob ([0-9a-f-]{36})\b/i

export interface QueueFaults {
  /** Logs what the queue's client has met: once a wake-up, and a Redis that takes no writes once until it does. */
  log(error: Error): void
  /** Redis has taken a write. */
  taken(): void
}

export function queueFaults(log: Logger): QueueFaults {
  const logged = new LRUCache<string, true>({ max: rememberedJobs, ttl: rememberedForMs })
  let refuses = false
  let refusedAt = 0
  return {
    log(error) {
      if (refusal.test(error.message)) {
        if (!refuses) logWarning(log, 'redis_refuses_writes', error, { tryingAgainEveryMs: tryAgainAfterMs })
        refuses = true
        refusedAt = performance.now()
        return
      }
      const requestId = jobIn.exec(error.message)?.[1]
      const fault = requestId ?? error.message
      if (!logged.has(fault)) logWarning(log, 'queue_fault', error, { ...(requestId && { requestId }) })
      logged.set(fault, true)
    },
    taken() {
      if (!refuses || performance.now() - refusedAt < takesAgainAfterMs) return
      refuses = false
      log.info({ event: 'redis_takes_writes' })
    },
  }
}
