import { setTimeout as sleep } from 'node:timers/promises'
import { DelayedError, type Job } from 'bullmq'
import pLimit from 'p-limit'
import { keyPrefix, overflowQueueName, queueName, type SendJob, sendJobSchema } from '../src/core/send-job.ts'
import { logFault } from '../src/platform/logger.ts'
import { leaveNothing } from '../src/queue/queue.ts'
import type { Needs } from '../src/runtime.ts'
import type { NextWakeUp } from './sends/attempt.ts'
import type { InFlight } from './sends/in-flight.ts'
import { laneWaker } from './sends/lanes.ts'
import type { Queues } from './sends/wake.ts'
import { SteadyWorker, tryAgainAfterMs } from './steady-worker.ts'
import { queueFaults } from './upkeep/queue-faults.ts'

/** A killed worker's jobs are taken up again within lock and check together. */
const lockDurationMs = 8_000
const stalledCheckMs = 3_000
/** How often a job may lose its worker; whether a send kills workers is counted in PostgreSQL, not here. */
const maxStalls = 1_000_000
const wakeAfterFaultMs = 1_000
const tellRedisWithinMs = 2_000
/** Of the slots, those that the overflow can't take: whatever an account has waiting, there is room for the others. */
const keptForOrdinary = 0.6

export interface QueueWorker {
  ready(): Promise<unknown>
  /** Takes no new wake-ups, and resolves when the sends in hand have their outcome recorded. */
  stop(): Promise<void>
}

/**
 * Follows wake-ups from both queues, on slots that they share. A wake-up whose send is to be tried later, or whose
 * processing hit a fault, goes back as a delayed one under the same id.
 */
export function startQueueWorker(
  runtime: Queues & Needs<'db' | 'log' | 'metrics', 'WORKER_CONCURRENCY'>,
  deliver: (requestId: string) => Promise<NextWakeUp>,
  inFlight: InFlight,
): QueueWorker {
  const { log, metrics, redis, settings } = runtime
  const lanes = laneWaker(runtime)
  const faults = queueFaults(log)
  const slots = settings.WORKER_CONCURRENCY
  metrics.slots.set(slots)
  const onSlot = pLimit(slots)
  let isStopping = false
  const follow = async (job: Job<SendJob>, token?: string): Promise<NextWakeUp> => {
    const { requestId } = sendJobSchema.parse(job.data)
    // It has waited for its slot until now: for another worker.
    if (isStopping) return await wakeAgain(job, 0, token)
    const next = await deliver(requestId).catch((error: unknown): NextWakeUp => {
      logFault(log, 'wake_up_failed', error, { requestId })
      return { wakeInMs: wakeAfterFaultMs }
    })
    if (next.wakeInMs === undefined) return next
    return await wakeAgain(job, next.wakeInMs, token)
  }
  const start = (name: string, concurrency: number) => {
    const options = {
      connection: redis,
      prefix: keyPrefix,
      concurrency,
      lockDuration: lockDurationMs,
      stalledInterval: stalledCheckMs,
      maxStalledCount: maxStalls,
      runRetryDelay: tryAgainAfterMs,
      ...leaveNothing,
    }
    const process = (job: Job<SendJob>, token?: string) => onSlot(() => follow(job, token))
    const worker = new SteadyWorker(name, process, options, faults.taken)
    // What concerns the connection is in the log already, once an outage.
    worker.on('error', (error) => redis.status === 'ready' && faults.log(error))
    // Not before it has left the queue: until then its send, should it be the lane's head by now, can't be given another.
    worker.on('completed', ({ data }, { looksAgain }) => looksAgain && void lanes.wakeHeadOf(data.requestId))
    worker.on('failed', (job, error) => logFault(log, 'wake_up_lost', error, { requestId: job?.id }))
    return worker
  }
  const workers = [
    start(queueName, slots),
    start(overflowQueueName, slots - Math.floor(slots * keptForOrdinary)),
  ]
  return {
    ready: () => Promise.all(workers.map((worker) => worker.waitUntilReady())),
    async stop() {
      isStopping = true
      const closed = Promise.all(workers.map((worker) => worker.close()))
      await inFlight.ended()
      // All is recorded in PostgreSQL. What Redis, being away, isn't told now, the next worker finds out.
      if (await isDoneWithin(closed, tellRedisWithinMs)) return
      redis.disconnect()
      await inFlight.ended()
    },
  }
}

/** Gives the wake-up back to its queue, to come again. */
async function wakeAgain(job: Job<SendJob>, inMs: number, token: string | undefined): Promise<never> {
  await job.moveToDelayed(Date.now() + inMs, token)
  throw new DelayedError()
}

async function isDoneWithin(work: Promise<unknown>, withinMs: number): Promise<boolean> {
  const signal = new AbortController()
  const over = sleep(withinMs, false, { signal: signal.signal }).catch(() => false)
  const done = await Promise.race([work.then(() => true), over])
  signal.abort()
  return done
}
