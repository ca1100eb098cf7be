import { type CallbackJob, callbackJobSchema, callbackQueueName } from '../../src/core/callback-job.ts'
import type { Shard } from '../../src/queue/shard.ts'
import type { EndpointWaker } from '../../src/queue/wake-endpoints.ts'
import type { Needs } from '../../src/runtime.ts'
import type { CallBack } from '../call-back.ts'
import { closeWorkers, concurrencyOf, type QueueWorker, queueWorkerOptions } from '../close-workers.ts'
import { SteadyWorker } from '../steady-worker.ts'
import type { QueueFaults } from '../upkeep/queue-faults.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { type AdvanceResult, endpointAdvancer } from './advance-endpoints.ts'
import type { CallSlots } from './call-slots.ts'

interface EndpointQueue extends QueueWorker {
  /** Calls endpoints that have callbacks due, without a wake-up in Redis. */
  wake: EndpointWaker
  /** The same for endpoints that have been due for a while, perhaps at a worker without a slot for them. */
  wakeOverdue: EndpointWaker
}

/** Processes the wake-ups of endpoints of all shards. */
export function startEndpointQueue(
  runtime: Needs<'db' | 'log' | 'shards', 'CALLBACK_CONCURRENCY'>,
  callBack: CallBack,
  slots: CallSlots,
  faults: ReadonlyMap<Shard, QueueFaults>,
  times: WorkerTimes,
): EndpointQueue {
  const advancer = endpointAdvancer(runtime, callBack, slots, times)
  const { claimsAtATime, wake, advance, lookAgain, stop, ended } = advancer
  const workers = [...faults].map(([shard, faultsOf]) => {
    const options = {
      ...queueWorkerOptions(shard, times),
      concurrency: concurrencyOf(claimsAtATime, faults.size),
    }
    const worker = new SteadyWorker<CallbackJob, AdvanceResult>(
      callbackQueueName,
      async (job) => await advance(callbackJobSchema.parse(job.data).endpointId),
      options,
      faultsOf.taken,
    )
    worker.on('error', (error) => shard.redis.status === 'ready' && faultsOf.log(error, 'endpointId'))
    return worker.on('completed', ({ data: { endpointId } }, result) => void lookAgain(endpointId, result))
  })
  return {
    wake,
    wakeOverdue(endpointIds) {
      if (slots.areFree) wake(endpointIds)
    },
    ready: () => Promise.all(workers.map((worker) => worker.waitUntilReady())),
    async stop() {
      stop()
      callBack.stop()
      await closeWorkers(workers, [...faults.keys()], ended, times.finishJobsWithinMs)
    },
  }
}
