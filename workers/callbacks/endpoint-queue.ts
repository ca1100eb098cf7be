import { findNextCalls } from '../../db/callbacks/due-endpoints.ts'
import { type CallbackJob, callbackJobSchema, callbackQueueName } from '../../src/core/callback-job.ts'
import { logFault, logWarningOnceAMinute } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { restoreEndpointsOnShards, type Shard } from '../../src/queue/shard.ts'
import type { Needs } from '../../src/runtime.ts'
import type { CallBack } from '../call-back.ts'
import { closeWorkers, type QueueWorker, queueWorkerOptions } from '../close-workers.ts'
import { SteadyWorker } from '../steady-worker.ts'
import type { QueueFaults } from '../upkeep/queue-faults.ts'
import type { WorkerTimes } from '../worker-times.ts'

/** A claim ends within seconds, or as soon as its endpoint doesn't answer; so this many wait for each other at most. */
const claimsAtATime = 256
const maxLooksPerFlush = 200

/** An endpoint whose wake-up has left the queue. */
interface Left {
  endpointId: string
  /** It isn't called before: this worker has no slot for it. */
  notBeforeMs: number
}

/** Processes the wake-ups of endpoints of all shards. */
export function startEndpointQueue(
  runtime: Needs<'db' | 'log' | 'shards'>,
  callBack: CallBack,
  faults: ReadonlyMap<Shard, QueueFaults>,
  times: WorkerTimes,
): QueueWorker {
  const { log } = runtime
  const lookAgain = againLooker(runtime)
  const inFlight = new Set<Promise<unknown>>()
  const track = async <Result>(work: Promise<Result>): Promise<Result> => {
    inFlight.add(work)
    return await work.finally(() => inFlight.delete(work))
  }
  const workers = [...faults].map(([shard, faultsOf]) => {
    const options = { ...queueWorkerOptions(shard, times), concurrency: claimsAtATime }
    const worker = new SteadyWorker<CallbackJob, number>(
      callbackQueueName,
      async (job) => {
        const { endpointId } = callbackJobSchema.parse(job.data)
        return await track(
          callBack.advance(endpointId).catch((error: unknown) => {
            logFault(log, 'callback_fault', error, { endpointId })
            return times.afterFaultMs
          }),
        )
      },
      options,
      faultsOf.taken,
    )
    worker.on('error', (error) => shard.redis.status === 'ready' && faultsOf.log(error))
    // Only after the wake-up has left the queue: until then, no other one can be added for its endpoint.
    return worker.on('completed', ({ data: { endpointId } }, notBeforeMs) => {
      void track(lookAgain({ endpointId, notBeforeMs }))
    })
  })
  return {
    ready: () => Promise.all(workers.map((worker) => worker.waitUntilReady())),
    async stop() {
      callBack.stop()
      const ended = async () => {
        while (inFlight.size > 0) await Promise.allSettled(inFlight)
      }
      await closeWorkers(workers, [...faults.keys()], ended, times.finishJobsWithinMs)
    },
  }
}

/** Adds the next wake-ups of endpoints, with the time of what is due next. Failures are only logged, as the reconciler adds missing ones. */
function againLooker({ db, log, shards }: Needs<'db' | 'log' | 'shards'>): (left: Left) => Promise<void> {
  const looks = new MicroBatch<Left, void>({
    maxItems: maxLooksPerFlush,
    mayOverlap: shards.length > 1,
    flush: async (left) => {
      const notBefore = new Map(left.map(({ endpointId, notBeforeMs }) => [endpointId, notBeforeMs]))
      try {
        const next = await findNextCalls(db, [...notBefore.keys()])
        const wakeUps = next.map(({ endpointId, inMs = 0 }) => ({
          endpointId,
          inMs: Math.max(inMs, notBefore.get(endpointId) ?? 0),
        }))
        const { failures } = await restoreEndpointsOnShards(shards, wakeUps)
        for (const { error } of failures) logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      } catch (error) {
        logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      }
      return left.map(() => undefined)
    },
  })
  return (left) => looks.add(left)
}
