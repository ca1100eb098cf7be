import { LRUCache } from 'lru-cache'
import { causeFields } from '../../src/platform/log/cause-fields.ts'
import { type Logger, logWarning } from '../../src/platform/log/logger.ts'
import { redisCause } from '../../src/platform/redis/cause.ts'
import type { Shard } from '../../src/queue/shard.ts'
import { tryAgainAfterMs } from './steady-worker.ts'

/** After this long, a job that failed has surely left the queue, and its send may have a new one. */
const rememberedForMs = 60_000
const rememberedJobs = 10_000

/** Replies of a Redis that refuses writes. Each try gets the same reply until an operator fixes the cause. */
const refusal =
  /\b(READONLY|MISCONF|OOM|NOREPLICAS|MASTERDOWN|CLUSTERDOWN|MOVED|ASK|TRYAGAIN|LOADING|NOPERM|NOAUTH|UNBLOCKED)\b/
/** A Redis short of memory refuses only some writes. It counts as accepting writes again when none was refused for this long. */
const takesAgainAfterMs = 5000
const jobIn = /\bjob ([0-9a-f-]{36})\b/i

export interface QueueFaults {
  /**
   * Logs an error of a queue's client: once per wake-up, and a Redis that refuses writes once until it accepts them.
   *
   * @param jobs what the ids of the queue's jobs are.
   */
  log(error: Error, jobs?: 'requestId' | 'endpointId'): void
  /** Call it when Redis has accepted a write. */
  taken(): void
}

/** Faults by shard. All queues of a shard are in one Redis, so what it refuses is logged once for all of them. */
export function faultsOfShards(shards: readonly Shard[]): ReadonlyMap<Shard, QueueFaults> {
  return new Map(shards.map((shard) => [shard, queueFaults(shard.log)]))
}

export function queueFaults(log: Logger): QueueFaults {
  const logged = new LRUCache<string, true>({ max: rememberedJobs, ttl: rememberedForMs })
  let refuses = false
  let refusedAt = 0
  return {
    log(error, jobs = 'requestId') {
      if (refusal.test(error.message)) {
        const fields = { tryingAgainEveryMs: tryAgainAfterMs, ...causeFields(redisCause(error)) }
        if (!refuses) logWarning(log, 'redis_refuses_writes', error, fields)
        refuses = true
        refusedAt = performance.now()
        return
      }
      const jobId = jobIn.exec(error.message)?.[1]
      const fault = jobId ?? error.message
      if (!logged.has(fault)) logWarning(log, 'queue_fault', error, { ...(jobId && { [jobs]: jobId }) })
      logged.set(fault, true)
    },
    taken() {
      if (!refuses || performance.now() - refusedAt < takesAgainAfterMs) return
      refuses = false
      log.info({ event: 'redis_takes_writes' })
    },
  }
}
