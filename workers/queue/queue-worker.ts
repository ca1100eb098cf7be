import { DelayedError, type Job } from 'bullmq'
import { overflowQueueName, queueName, type SendJob, sendJobSchema } from '../../src/core/sends/send-job.ts'
import { logFault } from '../../src/platform/log/logger.ts'
import type { Metrics } from '../../src/platform/metrics.ts'
import type { Shard } from '../../src/queue/shard.ts'
import { createWakeLanes } from '../../src/queue/wake-sends.ts'
import type { Needs } from '../../src/runtime.ts'
import { type WorkerTimes, workerTimes } from '../worker-times.ts'
import { closeWorkers, concurrencyOf, type QueueWorker, queueWorkerOptions } from './close-workers.ts'
import type { InFlight } from './in-flight.ts'
import type { QueueFaults } from './queue-faults.ts'
import { type QueueKind, type Slot, Slots } from './slots.ts'
import { SteadyWorker } from './steady-worker.ts'

const wakeAfterFaultMs = 1_000

/** The queue worker's next step after processing a wake-up. */
export interface NextWakeUp {
  /** Delay until the send's next wake-up; undefined if there is nothing left to do for it now. */
  wakeInMs?: number | undefined
  /** Whether to look for the head of the send's lane, and wake it, when this wake-up has left the queue. */
  wakesLaneHead?: boolean
}

interface QueueWorkerParts {
  inFlight: InFlight
  /** One for each shard. */
  faults: ReadonlyMap<Shard, QueueFaults>
  times?: WorkerTimes
}

/**
 * Processes wake-ups of both queues of all shards, which share the worker's slots. A wake-up whose send has to be tried later,
 * or whose processing failed, is delayed and stays under the same id.
 */
export function startQueueWorker(
  runtime: Needs<'db' | 'log' | 'metrics' | 'shards', 'WORKER_CONCURRENCY'>,
  deliver: (requestId: string, slot: Slot) => Promise<NextWakeUp>,
  { inFlight, faults, times = workerTimes }: QueueWorkerParts,
): QueueWorker {
  const { log, metrics, settings } = runtime
  const shards = [...faults.keys()]
  const lanes = createWakeLanes(runtime)
  const maxInFlight = settings.WORKER_CONCURRENCY
  const slots = new Slots(maxInFlight)
  showSlots(metrics, slots, maxInFlight)
  const queues = {
    ordinary: [queueName, maxInFlight],
    overflow: [overflowQueueName, slots.maxOverflow],
  } as const
  let isStopping = false
  const advance = async (requestId: string, slot: Slot): Promise<NextWakeUp> => {
    // It waited for a slot until now. Leave it to another worker.
    if (isStopping) return { wakeInMs: 0 }
    return await deliver(requestId, slot).catch((error: unknown): NextWakeUp => {
      logFault(log, 'wake_up_failed', error, { requestId })
      return { wakeInMs: wakeAfterFaultMs }
    })
  }
  const start = (kind: QueueKind, shard: Shard, faultsOf: QueueFaults) => {
    const [name, most] = queues[kind]
    const { redis } = shard
    const options = { ...queueWorkerOptions(shard, times), concurrency: concurrencyOf(most, shards.length) }
    const process = async (job: Job<SendJob>, token?: string) => {
      const { requestId } = sendJobSchema.parse(job.data)
      const acquired = slots.acquire(kind)
      takeWhatFits()
      const slot = await acquired
      const next = await advance(requestId, slot).finally(() => {
        slot.release()
        takeWhatFits()
      })
      if (next.wakeInMs === undefined) return next
      // Without its slot: this waits for the shard's Redis, for as long as that is away.
      return await wakeAgain(job, next.wakeInMs, token)
    }
    const worker = new SteadyWorker<SendJob, NextWakeUp>(name, process, options, faultsOf.taken)
    // The connection logs its own errors, once per outage.
    worker.on('error', (error) => redis.status === 'ready' && faultsOf.log(error))
    worker.on('failed', (job, error) => logFault(log, 'wake_up_lost', error, { requestId: job?.id }))
    // Only after the wake-up has left the queue: until then, no other one can be added for its send, which may be the head.
    return worker.on('completed', ({ data }, { wakesLaneHead }) => {
      if (wakesLaneHead) void lanes.wakeHeadOf(data.requestId)
    })
  }
  const ofShards = [...faults].flatMap(([shard, faultsOf]) =>
    (['ordinary', 'overflow'] as const).map((kind) => ({ kind, worker: start(kind, shard, faultsOf) })),
  )
  const workers = ofShards.map(({ worker }) => worker)
  /** A worker whose slots are taken by slow calls leaves the other wake-ups to other workers. */
  const takeWhatFits = () => {
    for (const { kind, worker } of ofShards) {
      worker.takeFurther(Math.ceil(slots.roomFor(kind) / shards.length))
    }
  }
  return {
    ready: () => Promise.all(workers.map((worker) => worker.waitUntilReady())),
    async stop() {
      isStopping = true
      slots.startAll()
      await closeWorkers(workers, shards, () => inFlight.ended(), times.finishJobsWithinMs)
    },
  }
}

function showSlots(metrics: Metrics, slots: Slots, maxInFlight: number): void {
  metrics.slots.set(maxInFlight)
  metrics.beforeScrape.push(() => {
    metrics.overflowLimit.set(Math.floor(slots.overflowLimit))
    metrics.atWork.set({ queue: queueName }, slots.atWork('ordinary'))
    metrics.atWork.set({ queue: overflowQueueName }, slots.atWork('overflow'))
  })
}

/** Delays the wake-up, so that it comes again. */
async function wakeAgain(job: Job<SendJob>, inMs: number, token: string | undefined): Promise<never> {
  await job.moveToDelayed(Date.now() + inMs, token)
  throw new DelayedError()
}
