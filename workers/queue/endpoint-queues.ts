import type { Job } from 'bullmq'
import pLimit from 'p-limit'
import { findNextCalls } from '../../db/callbacks/due-endpoints.ts'
import {
  type CallbackJob,
  callbackJobSchema,
  callbackQueueName,
  slowStartQueueName,
} from '../../src/core/callbacks/callback-job.ts'
import { logFault, logWarningOnceAMinute } from '../../src/platform/log/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { ShortageError, warnOfShortage } from '../../src/platform/process/own-shortage.ts'
import { restoreEndpointsOnShards, type Shard } from '../../src/queue/shard.ts'
import type { Needs } from '../../src/runtime.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { closeWorkers, concurrencyOf, type QueueWorker, queueWorkerOptions } from './close-workers.ts'
import { InFlight } from './in-flight.ts'
import type { QueueFaults } from './queue-faults.ts'
import { SteadyWorker } from './steady-worker.ts'

const maxLooksPerFlush = 200

/** The parts of the worker that the queues of endpoints need. */
export interface EndpointAdvancer {
  /** Calls an endpoint with what is due: once, if it is in slow start. Resolves when all that it began is recorded. */
  advance(endpointId: string, isInSlowStart: boolean): Promise<void>
  /** The claims of this worker. */
  claimIds(): string[]
  callsInFlight(): number
  /** Begins no further call. */
  stop(): void
}

/** An endpoint that was advanced, and whose wake-up has left the queue. */
interface Ended {
  endpointId: string
  /** It isn't called earlier. */
  inMs: number
}

/**
 * Processes the wake-ups of endpoints of all shards. Endpoints in slow start have a queue of their own, and at most half of the
 * calls: each of them may take as long as a call may take.
 */
export function startEndpointQueues(
  runtime: Needs<'db' | 'log' | 'shards', 'CALLBACK_CONCURRENCY'>,
  endpointAdvancer: EndpointAdvancer,
  faults: ReadonlyMap<Shard, QueueFaults>,
  times: WorkerTimes,
): QueueWorker {
  const { log, settings } = runtime
  const most = settings.CALLBACK_CONCURRENCY
  const limits = {
    [callbackQueueName]: pLimit(most),
    [slowStartQueueName]: pLimit(Math.max(1, Math.floor(most / 2))),
  }
  const look = createLookAgain(runtime)
  const inFlight = new InFlight()
  const start = (shard: Shard, faultsOf: QueueFaults, name: keyof typeof limits) => {
    const limit = limits[name]
    const process = async ({ data }: Job<CallbackJob>): Promise<Ended> => {
      const { endpointId } = callbackJobSchema.parse(data)
      try {
        await inFlight.track(
          endpointId,
          limit(() => endpointAdvancer.advance(endpointId, name === slowStartQueueName)),
        )
        return { endpointId, inMs: 0 }
      } catch (error) {
        if (error instanceof ShortageError) warnOfShortage(log, error.shortage)
        else logFault(log, 'callback_fault', error, { endpointId })
        return { endpointId, inMs: times.afterFaultMs }
      }
    }
    const options = {
      ...queueWorkerOptions(shard, times),
      concurrency: concurrencyOf(limit.concurrency, faults.size),
    }
    const worker = new SteadyWorker<CallbackJob, Ended>(name, process, options, faultsOf.taken)
    worker.on('error', (error) => shard.redis.status === 'ready' && faultsOf.log(error, 'endpointId'))
    // Only after the wake-up has left the queue: until then, no other one can be added for its endpoint.
    return worker.on('completed', (_job, ended) => void inFlight.track(ended.endpointId, look(ended)))
  }
  const workers = [...faults].flatMap(([shard, faultsOf]) =>
    ([callbackQueueName, slowStartQueueName] as const).map((name) => start(shard, faultsOf, name)),
  )
  return {
    ready: () => Promise.all(workers.map((worker) => worker.waitUntilReady())),
    async stop() {
      endpointAdvancer.stop()
      await closeWorkers(workers, [...faults.keys()], () => inFlight.ended(), times.finishJobsWithinMs)
    },
  }
}

/** Adds the wake-ups of endpoints that are to be called again. Failures are only logged, as the reconciler adds missing wake-ups. */
function createLookAgain({ db, log, shards }: Needs<'db' | 'log' | 'shards'>) {
  const looks = new MicroBatch<Ended, void>({
    maxItems: maxLooksPerFlush,
    mayOverlap: shards.length > 1,
    flush: async (ended) => {
      try {
        const notBefore = new Map(ended.map(({ endpointId, inMs }) => [endpointId, inMs]))
        const next = await findNextCalls(db, [...notBefore.keys()])
        const wakeUps = next.map(({ inMs = 0, ...endpoint }) => ({
          ...endpoint,
          inMs: Math.max(inMs, notBefore.get(endpoint.endpointId) ?? 0),
        }))
        const { failures } = await restoreEndpointsOnShards(shards, wakeUps)
        for (const { error } of failures) logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      } catch (error) {
        logWarningOnceAMinute(log, 'endpoints_not_woken', error)
      }
      return ended.map(() => undefined)
    },
  })
  return (ended: Ended) => looks.add(ended)
}
