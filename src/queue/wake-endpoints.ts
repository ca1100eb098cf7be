import { type Logger, logWarningOnceAMinute } from '../platform/log/logger.ts'
import { MicroBatch } from '../platform/micro-batch.ts'
import { restoreEndpointsOnShards, type Shard } from './shard.ts'

const maxPerBatch = 200

/** Wakes endpoints that have callbacks due. */
export type EndpointWaker = (endpointIds: readonly string[]) => void

/**
 * Wakes each endpoint at most once while a batch is under way, however many callbacks it has got. Failures are only logged, because
 * the reconciler adds missing wake-ups; nothing waits for it, because Redis may be down.
 */
export function createWakeEndpoints({
  log,
  shards,
}: {
  log: Logger
  shards: readonly Shard[]
}): EndpointWaker {
  const waiting = new Set<string>()
  const batch = new MicroBatch<string, void>({
    maxItems: maxPerBatch,
    // Otherwise a shard that is away would delay the wake-ups of others.
    mayOverlap: shards.length > 1,
    flush: async (endpointIds) => {
      for (const endpointId of endpointIds) waiting.delete(endpointId)
      const wakeUps = endpointIds.map((endpointId) => ({ endpointId }))
      const { failures } = await restoreEndpointsOnShards(shards, wakeUps)
      for (const { error } of failures) logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      return endpointIds.map(() => undefined)
    },
  })
  return (endpointIds) => {
    for (const endpointId of endpointIds) {
      if (waiting.has(endpointId)) continue
      waiting.add(endpointId)
      void batch.add(endpointId)
    }
  }
}
