import { LRUCache } from 'lru-cache'
import { type GrantedPermits, grantPermits, type Permit } from '../../../db/delivery/permits.ts'
import { headStartMs, noPermitsForMs, probeMarginSeconds } from '../../../src/core/sends/delivery-times.ts'
import { logFault } from '../../../src/platform/log/logger.ts'
import { MicroBatch } from '../../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import { createTolerantWake } from '../../../src/queue/wake-sends.ts'
import type { Needs } from '../../../src/runtime.ts'
import { type WorkerTimes, workerTimes } from '../../worker-times.ts'
import { besideAway, isOneAway } from './beside-away.ts'
import { ChannelTimers } from './channel-timers.ts'

const maxChannelsPerBatch = 100
const watchedChannels = 10_000

/** Grants permits to the sends of limited channels (docs/explanation/delivery.md#channels-with-limits). */
export interface Permits {
  /**
   * Grants the channel's free permits, and wakes the sends that got one. Repeats itself when more permits become free.
   *
   * @returns due sends that could get no permit, because their shard is away: of each shard one.
   */
  grant(channelId: string): Promise<readonly string[]>
  /**
   * Does the same for a send without a permit, unless the channel had no free permits a moment ago.
   *
   * @returns the delay until this send's wake-up, if it got a permit.
   */
  request(channelId: string, requestId: string): Promise<number | undefined>
  stop(): void
}

interface Granted {
  permits: readonly Permit[]
  unreachable: readonly string[]
  /** Resolves when the wake-ups of their sends were added. */
  woken: Promise<unknown>
}

export function createPermits(
  runtime: Needs<'db' | 'log' | 'shards', 'PROVIDER_TIMEOUT_SECONDS'>,
  { permitValidMs }: Pick<WorkerTimes, 'permitValidMs'> = workerTimes,
): Permits {
  const { db, log, settings, shards } = runtime
  const full = new LRUCache<string, true>({ max: watchedChannels, ttl: noPermitsForMs })
  const timers = new ChannelTimers((channelId) => {
    grant(channelId).catch((error: unknown) => logFault(log, 'permits_not_granted', error, { channelId }))
  })
  const grantTimes = {
    probeSeconds: settings.PROVIDER_TIMEOUT_SECONDS + probeMarginSeconds,
    validSeconds: permitValidMs / 1000,
  }
  const grantBesideAway = besideAway(runtime, grantTimes)
  const grantWithRetry = retryUntilAvailable(
    log,
    (channelIds: readonly string[]): Promise<(GrantedPermits & { unreachable?: string[] })[]> =>
      isOneAway(shards) ? grantBesideAway(channelIds) : grantPermits(db, channelIds, grantTimes),
  )
  const wakeGranted = createTolerantWake(runtime, 'permit_not_woken')
  const channels = new MicroBatch<string, Granted>({
    maxItems: maxChannelsPerBatch,
    flush: async (channelIds) => {
      const granted = new Map(
        (await grantWithRetry([...new Set(channelIds)])).map((one) => [one.channelId, one]),
      )
      for (const { channelId, isFull, moreInMs } of granted.values()) {
        if (isFull) full.set(channelId, true)
        else full.delete(channelId)
        timers.set(channelId, moreInMs)
      }
      const wakeUps = [...granted.values()].flatMap(({ permits }) =>
        permits.map((permit) => ({ ...permit, inMs: wakeInMs(permit.inMs) })),
      )
      // A send that waited for a retry may have a later wake-up, which is promoted. If waking fails, the permits expire, and the
      // reconciler adds the wake-ups.
      const woken = wakeGranted(wakeUps)
      return channelIds.map((channelId) => {
        const { permits = [], unreachable = [] } = granted.get(channelId) ?? {}
        return { permits, unreachable, woken }
      })
    },
  })

  const grant = async (channelId: string) => {
    const { woken, unreachable } = await channels.add(channelId)
    await woken
    return unreachable
  }

  return {
    grant,
    async request(channelId, requestId) {
      if (full.has(channelId)) {
        // Another worker may return a permit at this moment, without seeing the send that was just refused here.
        if (!timers.has(channelId)) timers.set(channelId, noPermitsForMs)
        return undefined
      }
      const { permits } = await channels.add(channelId)
      const permit = permits.find((one) => one.requestId === requestId)
      return permit && wakeInMs(permit.inMs)
    },
    stop: () => timers.stop(),
  }
}

const wakeInMs = (callInMs: number) => Math.max(0, callInMs - headStartMs)
