import { hostname } from 'node:os'
import { v7 as uuidv7 } from 'uuid'
import { createLogger } from '../../src/platform/logger.ts'
import { closeOnSignal, runProcess } from '../../src/platform/process.ts'
import { openRuntime } from '../../src/platform/runtime.ts'
import { readSettings } from '../../src/platform/settings.ts'
import { deliverer } from '../../workers/deliver.ts'
import { startHeartbeat } from '../../workers/heartbeat.ts'
import { openProviders } from '../../workers/providers/index.ts'
import { startQueueWorker } from '../../workers/queue-worker.ts'
import { startReconciler } from '../../workers/reconcile.ts'
import { startSweeps } from '../../workers/sweep.ts'

const drainMs = 30_000

/** A worker as workers/main.ts starts one, but without fairness: one queue, in the order in which wake-ups came. */
await runProcess(async () => {
  const settings = readSettings()
  const log = createLogger(settings.LOG_LEVEL)
  const runtime = openRuntime('worker', settings, log)
  const name = `${hostname()}-${process.pid}-${uuidv7().slice(-6)}`
  const heartbeat = startHeartbeat(runtime, name)
  const { providers, close: closeProviders } = openProviders(runtime.db, settings)
  const queueWorker = startQueueWorker(runtime, deliverer(runtime, providers, heartbeat))
  const beside = [startReconciler(runtime), startSweeps(runtime, heartbeat, queueWorker.inHand)]
  log.info({ event: 'working', worker: name, concurrency: settings.WORKER_CONCURRENCY })
  closeOnSignal(log, drainMs, async () => {
    await Promise.all([queueWorker.stop(), ...beside.map((rounds) => rounds.stop())])
    await heartbeat.stop()
    await closeProviders()
    await runtime.close()
  })
})
