import {
  type BusyChannel,
  type DueSend,
  findBusyChannels,
  findDueSends,
} from '../../db/delivery/due-sends.ts'
import type { WakeUp } from '../../src/core/sends/send-job.ts'
import { logWarningOnceAMinute } from '../../src/platform/log/logger.ts'
import { restoreOnShards, type Shard } from '../../src/queue/shard.ts'
import type { Needs } from '../../src/runtime.ts'
import { WakeUpFlow } from '../queue/wake-up-flow.ts'
import type { Permits } from '../sends/claim/permits.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import { type PeriodicTask, startPeriodicTask } from './periodic-task.ts'

/** Limit of sends looked at in one pass, over all channels. Each channel gets at least `fewestPerChannel` of them. */
export const sendsPerPass = 10_000
const fewestPerChannel = 100
const pageSize = 1000
/** Limit of sends read at once from several channels. */
const sendsAtOnce = 2000
/** Limit of channels that are granted permits at once, so that requests for permits of other channels don't wait for all. */
const channelsAtOnce = 20

/**
 * Adds wake-ups for sends that are queued and due but have none, or too late a one: because Redis was down when they were
 * accepted, or lost its data, or because they were replayed. Any number of workers may do this at once, since adding a
 * wake-up again changes nothing.
 */
export function startReconciler(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards'>,
  permits: Pick<Permits, 'grant'>,
  flow = new WakeUpFlow(runtime.metrics, runtime.shards),
  times: WorkerTimes = workerTimes,
): PeriodicTask {
  const { reconcileEveryMs, reconcileAgainAfterMs, overdueByMs, permitValidMs: unusedForMs } = times
  /** For channels with more overdue sends than a pass looks at: the send after which the next pass continues. */
  const stoppedAt = new Map<string, DueSend>()
  // Soon again after an error: a pass waits for a Redis that is away, and what was accepted meanwhile waits for the next pass.
  const task = { log: runtime.log, event: 'reconcile_failed', pauseMs: reconcileAgainAfterMs }
  return startPeriodicTask(task, async () => {
    const channels = await findBusyChannels(runtime.db, { overdueByMs, unusedForMs })
    const { restore, hasFailed } = createRestore(runtime)
    let restored = 0
    flow.beginSearch()
    // Due sends are reported at once, because the next step waits for Redis, which may be down. A due send of a limited channel
    // proves nothing, since it may wait for a permit.
    if (channels.some(({ hasUnusedPermits }) => hasUnusedPermits)) flow.foundSomeDue()
    const unreachable = await grantPermits(permits, channels)
    flow.foundDue(unreachable)
    const maxSends = Math.max(fewestPerChannel, Math.floor(sendsPerPass / channels.length))
    const isRead = new Set(
      channels.filter(({ permitFree }) => permitFree !== 'none').map(({ channelId }) => channelId),
    )
    for (const channelId of stoppedAt.keys()) if (!isRead.has(channelId)) stoppedAt.delete(channelId)
    for (const permitFree of ['all', 'ordinary'] as const) {
      const ids = channels
        .filter((channel) => channel.permitFree === permitFree)
        .map(({ channelId }) => channelId)
      const atOnce = Math.ceil(sendsAtOnce / Math.min(maxSends, pageSize))
      for (let first = 0; first < ids.length; first += atOnce) {
        const channelIds = ids.slice(first, first + atOnce)
        const onDue = (requestIds: readonly string[]) => flow.foundDue(requestIds)
        const which = { channelIds, permitFree, maxSends, overdueByMs, onDue }
        restored += await restoreWakeUpsOf(runtime, restore, which, stoppedAt)
      }
    }
    flow.endSearch()
    if (restored > 0) runtime.log.info({ event: 'reconciled', sends: restored })
    runtime.metrics.reconciled.inc(restored)
    if (hasFailed() || unreachable.length > 0) return reconcileAgainAfterMs
    if (stoppedAt.size === 0) return reconcileEveryMs
    // If no wake-up was missing, the rest of the backlog is unlikely to miss any.
    return restored > 0 ? reconcileAgainAfterMs : times.reconcileBacklogEveryMs
  })
}

/**
 * For one pass, which goes on while some shards are away: their sends would otherwise keep it from those of others.
 *
 * @returns `restore` throws when all shards have failed; `hasFailed` whether any has.
 */
function createRestore({ shards }: Needs<'shards'>) {
  const failed = new Set<Shard>()
  const restore = async (wakeUps: readonly WakeUp[]): Promise<number> => {
    const { restored, failures } = await restoreOnShards(shards, wakeUps)
    for (const { shard, error } of failures) {
      failed.add(shard)
      if (failed.size === shards.length) throw error
      logWarningOnceAMinute(shard.log, 'reconcile_failed', error)
    }
    return restored
  }
  return { restore, hasFailed: () => failed.size > 0 }
}

/** @returns due sends of shards that are away. */
async function grantPermits(
  permits: Pick<Permits, 'grant'>,
  channels: readonly BusyChannel[],
): Promise<string[]> {
  const unreachable: string[] = []
  const limited = channels.filter(({ grantsPermits }) => grantsPermits)
  for (let first = 0; first < limited.length; first += channelsAtOnce) {
    const page = limited.slice(first, first + channelsAtOnce)
    const ofPage = await Promise.all(page.map(({ channelId }) => permits.grant(channelId)))
    unreachable.push(...ofPage.flat())
  }
  return unreachable
}

interface ChannelsToRestore {
  channelIds: string[]
  permitFree: 'all' | 'ordinary'
  /** Limit of sends looked at, for each channel. */
  maxSends: number
  overdueByMs: number
  /** Called with the sends that could go. */
  onDue(requestIds: readonly string[]): void
}

/**
 * @param stoppedAt the send after which each channel continues; updated, and removed when all its overdue sends were read.
 * @returns the number of wake-ups added or promoted.
 */
async function restoreWakeUpsOf(
  { db }: Needs<'db'>,
  restore: (wakeUps: readonly WakeUp[]) => Promise<number>,
  { channelIds, permitFree, maxSends, overdueByMs, onDue }: ChannelsToRestore,
  stoppedAt: Map<string, DueSend>,
): Promise<number> {
  let restored = 0
  let unfinished = channelIds
  for (let left = maxSends; left > 0 && unfinished.length > 0; left -= pageSize) {
    const limit = Math.min(left, pageSize)
    const channels = unfinished.map((channelId) => ({ channelId, after: stoppedAt.get(channelId) }))
    const due = await findDueSends(db, { channels, permitFree, overdueByMs, limit })
    const heads = due.filter(({ isHead }) => isHead)
    onDue(heads.map(({ requestId }) => requestId))
    restored += await restore(heads)
    unfinished = unfinished.filter((channelId) => {
      const page = due.filter((send) => send.channelId === channelId)
      const last = page.length < limit ? undefined : page.at(-1)
      if (last) stoppedAt.set(channelId, last)
      else stoppedAt.delete(channelId)
      return last !== undefined
    })
  }
  return restored
}
