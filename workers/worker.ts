import type { Runtime } from '../src/runtime.ts'
import { createCallBack } from './call-back.ts'
import { SendsFirst } from './callbacks/sends-first.ts'
import { createDeliver } from './deliver.ts'
import { createHttpClient } from './http/http.ts'
import { openProviders } from './providers/index.ts'
import { startEndpointQueues } from './queue/endpoint-queues.ts'
import { InFlight } from './queue/in-flight.ts'
import { faultsOfShards } from './queue/queue-faults.ts'
import { startQueueWorker } from './queue/queue-worker.ts'
import { WakeUpFlow } from './queue/wake-up-flow.ts'
import { createPermits } from './sends/claim/permits.ts'
import { startHeartbeat } from './upkeep/heartbeat.ts'
import { startMovingDueSends } from './upkeep/move-due.ts'
import { startReconciler } from './upkeep/reconcile.ts'
import { startEndpointReconciler } from './upkeep/reconcile-endpoints.ts'
import { startSweeps } from './upkeep/sweeps.ts'
import { type WorkerTimes, workerTimes } from './worker-times.ts'

export interface Worker {
  /** Resolves when it takes wake-ups from the queue and may claim their sends. */
  ready(): Promise<unknown>
  /** Takes no new sends, and resolves when those in flight have ended. */
  stop(): Promise<void>
}

/**
 * Starts the parts of a worker process: delivering sends, calling endpoints, and the periodic tasks.
 *
 * @param name unique among all workers, past ones too, because claims refer to it.
 */
export function startWorker(
  runtime: Runtime,
  name: string,
  flow = new WakeUpFlow(runtime.metrics, runtime.shards),
  times: WorkerTimes = workerTimes,
): Worker {
  const heartbeat = startHeartbeat(runtime, name, times)
  const { senders, stopFetching, close: closeProviders } = openProviders(runtime)
  const permits = createPermits(runtime, times)
  const inFlight = new InFlight(flow)
  const faults = faultsOfShards([...runtime.shards, ...runtime.formerShards])
  const http = createHttpClient({
    allowedPrivateNetworks: runtime.settings.CLIENT_PRIVATE_NETWORKS,
    givenBy: 'clients',
    requiresTls: true,
    nowMs: () => runtime.clock.nowMs(),
    maxConnections: runtime.settings.CALLBACK_CONCURRENCY,
  })
  const endpointAdvancer = createCallBack(runtime, {
    http,
    heartbeat,
    sendsFirst: new SendsFirst(inFlight),
    times,
  })
  runtime.metrics.beforeScrape.push(() =>
    runtime.metrics.callbacksInFlight.set(endpointAdvancer.callsInFlight()),
  )
  const endpointQueues = startEndpointQueues(runtime, endpointAdvancer, faults, times)
  const deliver = createDeliver(runtime, { senders, heartbeat, permits, inFlight, times })
  const queueWorker = startQueueWorker(runtime, deliver, { inFlight, faults, times })
  const periodicTasks = [
    startReconciler(runtime, permits, flow, times),
    startMovingDueSends(runtime, times),
    startEndpointReconciler(runtime, times),
    startSweeps(runtime, heartbeat, () => [...inFlight.requestIds(), ...endpointAdvancer.claimIds()], times),
  ]
  return {
    ready: () => Promise.all([queueWorker.ready(), endpointQueues.ready(), heartbeat.begun]),
    async stop() {
      permits.stop()
      // A fetch and the call after it may take longer than the worker has left.
      stopFetching()
      await Promise.all([
        queueWorker.stop(),
        endpointQueues.stop(),
        ...periodicTasks.map((task) => task.stop()),
      ])
      await heartbeat.stop()
      await Promise.all([closeProviders(), http.close()])
    },
  }
}
