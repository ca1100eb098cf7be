import type { Runtime } from '../src/runtime.ts'
import { deliverer } from './deliver.ts'
import { openProviders } from './providers/index.ts'
import { startQueueWorker } from './queue-worker.ts'
import { InFlight } from './sends/in-flight.ts'
import { permitGranter } from './sends/permits.ts'
import { startHeartbeat } from './upkeep/heartbeat.ts'
import { startReconciler } from './upkeep/reconcile.ts'
import { startSweeps } from './upkeep/sweep.ts'
import { WakeUpFlow } from './upkeep/wake-up-flow.ts'

export interface Worker {
  /** Resolves when it takes wake-ups from the queue and may claim their sends. */
  ready(): Promise<unknown>
  /** Sees what is in hand to its end. */
  stop(): Promise<void>
}

/**
 * All that a worker process does: it delivers sends, and does what has to be done beside.
 *
 * @param name unlike that of any other worker, ever: claims hang on it.
 */
export function startWorker(runtime: Runtime, name: string, flow = new WakeUpFlow(runtime.metrics)): Worker {
  const heartbeat = startHeartbeat(runtime, name)
  const { providers, stopFetching, close: closeProviders } = openProviders(runtime)
  const permits = permitGranter(runtime)
  const inFlight = new InFlight(flow)
  const deliver = deliverer(runtime, providers, heartbeat, permits, inFlight)
  const queueWorker = startQueueWorker(runtime, deliver, inFlight)
  const beside = [
    startReconciler(runtime, permits, flow),
    startSweeps(runtime, heartbeat, () => inFlight.requestIds()),
  ]
  return {
    ready: () => Promise.all([queueWorker.ready(), heartbeat.begun]),
    async stop() {
      permits.stop()
      // A fetch and the call after it may take longer than a worker has to end.
      stopFetching()
      await Promise.all([queueWorker.stop(), ...beside.map((rounds) => rounds.stop())])
      await heartbeat.stop()
      await closeProviders()
    },
  }
}
