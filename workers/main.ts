import { hostname } from 'node:os'
import { v7 as uuidv7 } from 'uuid'
import { serveHealth } from '../src/platform/health-server.ts'
import { createLogger } from '../src/platform/logger.ts'
import { closeOnSignal, runProcess } from '../src/platform/process.ts'
import { Readiness } from '../src/platform/readiness.ts'
import { openRuntime } from '../src/platform/runtime.ts'
import { readSettings } from '../src/platform/settings.ts'
import { startWorker } from './worker.ts'

/** Longer than a provider's call may take, so that each is seen to its end. */
const drainMs = 30_000

await runProcess(async () => {
  const settings = readSettings()
  const log = createLogger(settings.LOG_LEVEL)
  const runtime = openRuntime('worker', settings, log)
  const name = `${hostname()}-${process.pid}-${uuidv7().slice(-6)}`
  const readiness = new Readiness(runtime)
  const health = await serveHealth(runtime, readiness)
  const worker = startWorker(runtime, name)
  closeOnSignal(log, drainMs, async () => {
    readiness.drain()
    await worker.stop()
    health.close()
    await runtime.close()
  })
  log.info({ event: 'working', worker: name, concurrency: settings.WORKER_CONCURRENCY })
})
