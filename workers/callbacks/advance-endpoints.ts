import { findNextCalls } from '../../db/callbacks/due-endpoints.ts'
import { logFault, logWarningOnceAMinute } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { outsideSpans } from '../../src/platform/tracing.ts'
import { restoreEndpointsOnShards } from '../../src/queue/shard.ts'
import { type EndpointWaker, endpointWaker } from '../../src/queue/wake-endpoints.ts'
import type { Needs } from '../../src/runtime.ts'
import type { Advanced, CallBack } from '../call-back.ts'
import type { WorkerTimes } from '../worker-times.ts'
import type { CallSlots, Slot } from './call-slots.ts'
import { LeftEndpoints } from './left-endpoints.ts'
import { removePutOff } from './remove-put-off.ts'

/** Besides those that have a slot, and may keep it until a time-out: what waits for a slot or for PostgreSQL ends within seconds. */
const claimsWithoutSlot = 256
const maxLooksPerFlush = 200
/** Endpoints that were left are woken so often: most of them still have a wake-up. */
const wakeLeftEveryMs = 500

/** An endpoint that was advanced; its wake-up, if there was one, has left the queue. */
interface Left {
  endpointId: string
  /** It isn't called before: it is left to other workers. */
  notBeforeMs: number
}

export type AdvanceResult = Advanced | 'fault'

interface EndpointAdvancer {
  claimsAtATime: number
  /**
   * Calls endpoints that have callbacks due, without a wake-up in Redis, which would cost as much as the call. Those that
   * wait here for long are found by the reconciler, which wakes any worker.
   */
  wake: EndpointWaker
  /** For a wake-up in Redis. `lookAgain` has to follow. */
  advance(endpointId: string): Promise<AdvanceResult>
  /** After the wake-up has left the queue: until then, no other one can be added for its endpoint. */
  lookAgain(endpointId: string, result: AdvanceResult): Promise<void>
  /** Begins nothing more. */
  stop(): void
  /** Waits until all that has begun is recorded. */
  ended(): Promise<void>
}

/**
 * Has the worker advance endpoints: those with a wake-up, those that its own sends wake, and, when a slot becomes free, those that
 * had none before.
 */
export function endpointAdvancer(
  runtime: Needs<'db' | 'log' | 'shards', 'CALLBACK_CONCURRENCY'>,
  callBack: CallBack,
  slots: CallSlots,
  times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>,
): EndpointAdvancer {
  const { log } = runtime
  const claimsAtATime = claimsWithoutSlot + runtime.settings.CALLBACK_CONCURRENCY
  const wakeAnywhere = endpointWaker(runtime)
  const wakeLeft = endpointWaker(runtime, wakeLeftEveryMs)
  const left = new LeftEndpoints(times)
  const waiting = new Set<string>()
  const inFlight = new Set<Promise<unknown>>()
  let isStopping = false
  const wake: EndpointWaker = (endpointIds) => {
    for (const endpointId of endpointIds) {
      if (isStopping) wakeAnywhere([endpointId])
      else if (callBack.wakeIfCalled(endpointId)) continue
      // It has a wake-up, unless another worker has called it since.
      else if (left.has(endpointId)) wakeLeft([endpointId])
      else waiting.add(endpointId)
    }
    startWaiting()
  }
  const startWaiting = () => {
    for (const endpointId of waiting) {
      if (inFlight.size >= claimsAtATime) return
      waiting.delete(endpointId)
      if (!callBack.wakeIfCalled(endpointId)) start(endpointId)
    }
  }
  const startLeft = () => {
    if (isStopping) return
    for (const first of left.first(callBack.isCalled)) {
      const slot = slots.take(first.kind)
      if (!slot) continue
      left.take(first)
      void removePutOff(runtime, first.endpointId)
      start(first.endpointId, slot)
      return startLeft()
    }
  }
  slots.onFree = startLeft
  const start = (endpointId: string, slot?: Slot) =>
    outsideSpans(() => void track(advance(endpointId, slot).then((result) => lookAgain(endpointId, result))))
  const advance = (endpointId: string, slot?: Slot) =>
    callBack
      .advance(endpointId, slot)
      .catch((error: unknown): AdvanceResult => {
        logFault(log, 'callback_fault', error, { endpointId })
        return 'fault'
      })
      .finally(() => slot?.free())
  const look = againLooker(runtime, wake)
  const lookAgain = async (endpointId: string, result: AdvanceResult) => {
    if (result === 'under_way') return
    if (result === 'done') left.forget(endpointId)
    const notBeforeMs = result === 'done' ? 0 : left.leave(endpointId, result)
    // A slot may have become free before the endpoint stood in line.
    startLeft()
    await look({ endpointId, notBeforeMs })
  }
  const track = async <Value>(work: Promise<Value>): Promise<Value> => {
    inFlight.add(work)
    return await work.finally(() => {
      inFlight.delete(work)
      startWaiting()
    })
  }
  return {
    claimsAtATime,
    wake,
    advance: (endpointId) => track(advance(endpointId)),
    lookAgain: (endpointId, result) => track(lookAgain(endpointId, result)),
    stop() {
      isStopping = true
    },
    async ended() {
      while (inFlight.size > 0) await Promise.allSettled(inFlight)
    },
  }
}

/**
 * Wakes endpoints that are due again, and adds wake-ups of those that are due later. Failures are only logged, as the reconciler
 * adds missing wake-ups.
 */
function againLooker(
  { db, log, shards }: Needs<'db' | 'log' | 'shards'>,
  wake: EndpointWaker,
): (left: Left) => Promise<void> {
  const looks = new MicroBatch<Left, void>({
    maxItems: maxLooksPerFlush,
    mayOverlap: shards.length > 1,
    flush: async (left) => {
      const notBefore = new Map<string, number>()
      for (const { endpointId, notBeforeMs } of left)
        notBefore.set(endpointId, Math.max(notBeforeMs, notBefore.get(endpointId) ?? 0))
      try {
        const next = await findNextCalls(db, [...notBefore.keys()])
        const wakeUps = next.map(({ endpointId, inMs = 0 }) => {
          const notBeforeMs = notBefore.get(endpointId) ?? 0
          return { endpointId, inMs: Math.max(inMs, notBeforeMs), isPutOff: inMs < notBeforeMs }
        })
        const isDue = ({ inMs }: { inMs: number }) => inMs === 0
        wake(wakeUps.filter(isDue).map(({ endpointId }) => endpointId))
        const later = wakeUps.filter((wakeUp) => !isDue(wakeUp))
        const { failures } = await restoreEndpointsOnShards(shards, later)
        for (const { error } of failures) logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      } catch (error) {
        logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      }
      return left.map(() => undefined)
    },
  })
  return (left) => looks.add(left)
}
