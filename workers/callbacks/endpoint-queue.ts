import { findNextCalls } from '../../db/callbacks/due-endpoints.ts'
import { type CallbackJob, callbackJobSchema, callbackQueueName } from '../../src/core/callback-job.ts'
import { logFault, logWarningOnceAMinute } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { outsideSpans } from '../../src/platform/tracing.ts'
import { restoreEndpointsOnShards, type Shard } from '../../src/queue/shard.ts'
import { type EndpointWaker, endpointWaker } from '../../src/queue/wake-endpoints.ts'
import type { Needs } from '../../src/runtime.ts'
import type { Advanced, CallBack } from '../call-back.ts'
import { closeWorkers, concurrencyOf, type QueueWorker, queueWorkerOptions } from '../close-workers.ts'
import { SteadyWorker } from '../steady-worker.ts'
import type { QueueFaults } from '../upkeep/queue-faults.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { LeftEndpoints } from './left-endpoints.ts'

/** Besides those that have a slot, and may keep it until a time-out: what waits for a slot or for PostgreSQL ends within seconds. */
const claimsWithoutSlot = 256
const maxLooksPerFlush = 200

/** An endpoint that was advanced; its wake-up, if there was one, has left the queue. */
interface Left {
  endpointId: string
  /** It isn't called before: it is left to other workers. */
  notBeforeMs: number
}

type Result = Advanced | 'fault'

interface EndpointQueue extends QueueWorker {
  /**
   * Calls endpoints that have callbacks due, without a wake-up in Redis, which would cost as much as the call. Those that
   * wait here for long are found by the reconciler, which wakes any worker.
   */
  wake: EndpointWaker
}

/** Processes the wake-ups of endpoints of all shards. */
export function startEndpointQueue(
  runtime: Needs<'db' | 'log' | 'shards', 'CALLBACK_CONCURRENCY'>,
  callBack: CallBack,
  faults: ReadonlyMap<Shard, QueueFaults>,
  times: WorkerTimes,
): EndpointQueue {
  const { log } = runtime
  const claimsAtATime = claimsWithoutSlot + runtime.settings.CALLBACK_CONCURRENCY
  const wakeAnywhere = endpointWaker(runtime)
  const leftAlone = new LeftEndpoints(times)
  const waiting = new Set<string>()
  let isStopping = false
  const wake: EndpointWaker = (endpointIds) => {
    for (const endpointId of endpointIds) {
      // One that is put off has a wake-up, and gets no other one.
      if (isStopping || leftAlone.has(endpointId)) wakeAnywhere([endpointId])
      else if (!callBack.wakeIfCalled(endpointId)) waiting.add(endpointId)
    }
    startWaiting()
  }
  const startWaiting = () => {
    for (const endpointId of waiting) {
      if (inFlight.size >= claimsAtATime) return
      waiting.delete(endpointId)
      if (!callBack.wakeIfCalled(endpointId)) outsideSpans(() => void track(advanceHere(endpointId)))
    }
  }
  const look = againLooker(runtime, wake)
  const lookAgain = async (endpointId: string, result: Result) => {
    if (result === 'done') leftAlone.forget(endpointId)
    const notBeforeMs = result === 'done' ? 0 : leftAlone.leave(endpointId, result)
    await look({ endpointId, notBeforeMs })
  }
  const inFlight = new Set<Promise<unknown>>()
  const advance = (endpointId: string) =>
    callBack.advance(endpointId).catch((error: unknown): Result => {
      logFault(log, 'callback_fault', error, { endpointId })
      return 'fault'
    })
  const advanceHere = async (endpointId: string) => await lookAgain(endpointId, await advance(endpointId))
  const track = async <Value>(work: Promise<Value>): Promise<Value> => {
    inFlight.add(work)
    return await work.finally(() => {
      inFlight.delete(work)
      startWaiting()
    })
  }
  const workers = [...faults].map(([shard, faultsOf]) => {
    const options = {
      ...queueWorkerOptions(shard, times),
      concurrency: concurrencyOf(claimsAtATime, faults.size),
    }
    const worker = new SteadyWorker<CallbackJob, Result>(
      callbackQueueName,
      async (job) => {
        const { endpointId } = callbackJobSchema.parse(job.data)
        return await track(advance(endpointId))
      },
      options,
      faultsOf.taken,
    )
    worker.on('error', (error) => shard.redis.status === 'ready' && faultsOf.log(error, 'endpointId'))
    // Only after the wake-up has left the queue: until then, no other one can be added for its endpoint.
    return worker.on('completed', ({ data: { endpointId } }, result) => {
      void track(lookAgain(endpointId, result))
    })
  })
  return {
    wake,
    ready: () => Promise.all(workers.map((worker) => worker.waitUntilReady())),
    async stop() {
      isStopping = true
      callBack.stop()
      const ended = async () => {
        while (inFlight.size > 0) await Promise.allSettled(inFlight)
      }
      await closeWorkers(workers, [...faults.keys()], ended, times.finishJobsWithinMs)
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
