import { LRUCache } from 'lru-cache'
import { grantPermits, type Permit } from '../../db/delivery/permits.ts'
import { headStartMs } from '../../db/readiness.ts'
import { logFault, logWarning } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import type { Needs } from '../../src/runtime.ts'
import { retryUntilAvailable } from '../retry-until-available.ts'
import { type Queues, wake } from './wake.ts'

const maxChannelsPerBatch = 100
const probeMarginSeconds = 15
/** Where there were none, those who ask in this time are seen to together, at its end. */
const fullForMs = 100
const watchedChannels = 10_000

/** Gives the sends of limited channels their permits (docs/explanation/delivery.md#channels-with-limits). */
export interface Permits {
  /**
   * Gives the permits that there are in this channel now, and wakes the sends that have got one. Goes on by itself when
   * there will be more.
   */
  give(channelId: string): Promise<unknown>
  /**
   * The same for a send that asks for its permit, but not where there were none a moment ago.
   *
   * @returns how long until the wake-up of this send, where it has got one.
   */
  ask(channelId: string, requestId: string): Promise<number | undefined>
  stop(): void
}

interface Given {
  permits: readonly Permit[]
  /** Those who got them. */
  woken: Promise<unknown>
}

export function permitGranter(runtime: Queues & Needs<'db' | 'log', 'PROVIDER_TIMEOUT_SECONDS'>): Permits {
  const { db, log, settings } = runtime
  const full = new LRUCache<string, true>({ max: watchedChannels, ttl: fullForMs })
  const timers = new Map<string, NodeJS.Timeout>()
  let isStopped = false
  const grantWithRetry = retryUntilAvailable(log, (channelIds: readonly string[]) =>
    grantPermits(db, channelIds, settings.PROVIDER_TIMEOUT_SECONDS + probeMarginSeconds),
  )
  const channels = new MicroBatch<string, Given>({
    maxItems: maxChannelsPerBatch,
    isItemsFault: () => false,
    flush: async (channelIds) => {
      const given = new Map(
        (await grantWithRetry([...new Set(channelIds)])).map((one) => [one.channelId, one]),
      )
      for (const { channelId, isFull, moreInMs } of given.values()) {
        if (isFull) full.set(channelId, true)
        else full.delete(channelId)
        goOn(channelId, moreInMs)
      }
      const wakeUps = [...given.values()].flatMap(({ permits }) =>
        permits.map((permit) => ({ ...permit, inMs: wakeInMs(permit.inMs) })),
      )
      // One that waited for a retry may have a wake-up that is to come later. What fails here, the reconciler makes good
      // when the permits have expired.
      const woken = wake(runtime, wakeUps).catch((error: unknown) =>
        logWarning(log, 'permit_not_woken', error),
      )
      return channelIds.map((channelId) => ({ permits: given.get(channelId)?.permits ?? [], woken }))
    },
  })

  const give = async (channelId: string) => (await channels.add(channelId)).woken

  function goOn(channelId: string, moreInMs: number | null): void {
    clearTimeout(timers.get(channelId))
    timers.delete(channelId)
    if (moreInMs === null || isStopped) return
    timers.set(
      channelId,
      setTimeout(() => {
        timers.delete(channelId)
        give(channelId).catch((error: unknown) => logFault(log, 'permits_not_granted', error, { channelId }))
      }, moreInMs),
    )
  }

  return {
    give,
    async ask(channelId, requestId) {
      if (full.has(channelId)) {
        // Another worker may give a permit back in this moment, and not see who has just been refused here.
        if (!timers.has(channelId)) goOn(channelId, fullForMs)
        return undefined
      }
      const { permits } = await channels.add(channelId)
      const permit = permits.find((one) => one.requestId === requestId)
      return permit && wakeInMs(permit.inMs)
    },
    stop() {
      isStopped = true
      for (const timer of timers.values()) clearTimeout(timer)
    },
  }
}

const wakeInMs = (callInMs: number) => Math.max(0, callInMs - headStartMs)
