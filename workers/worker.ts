import type { Runtime } from '../src/platform/runtime.ts'
import { deliverer } from './deliver.ts'
import { startHeartbeat } from './heartbeat.ts'
import { openProviders } from './providers/index.ts'
import { startQueueWorker } from './queue-worker.ts'
import { startReconciler } from './reconcile.ts'
import { startSweeps } from './sweep.ts'
import { turnGiver } from './turns.ts'

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
export function startWorker(runtime: Runtime, name: string): Worker {
  const heartbeat = startHeartbeat(runtime, name)
  const { providers, close: closeProviders } = openProviders(runtime.db, runtime.settings)
  const turns = turnGiver(runtime)
  const queueWorker = startQueueWorker(runtime, deliverer(runtime, providers, heartbeat, turns))
  const beside = [startReconciler(runtime, turns), startSweeps(runtime, heartbeat, queueWorker.inHand)]
  return {
    ready: () => Promise.all([queueWorker.ready(), heartbeat.begun]),
    async stop() {
      turns.stop()
      await Promise.all([queueWorker.stop(), ...beside.map((rounds) => rounds.stop())])
      await heartbeat.stop()
      await closeProviders()
    },
  }
}
