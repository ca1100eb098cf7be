import { hostname } from 'node:os'
import { v7 as uuidv7 } from 'uuid'
import { serveHealth } from '../src/platform/health/health-server.ts'
import { Readiness } from '../src/platform/health/readiness.ts'
import { endConnections } from '../src/platform/http/exchanges.ts'
import { closeOnSignal, runProcess, stopWithinMs } from '../src/platform/process/process.ts'
import { checkDatabase, checkRedis } from '../src/platform/process/start-check.ts'
import { startLog } from '../src/platform/process/start-log.ts'
import { readSettings } from '../src/platform/settings/settings.ts'
import { keepProviderFiles } from '../src/provider-files.ts'
import { ShardsInForce } from '../src/queue/shards-in-force.ts'
import { openRuntime } from '../src/runtime.ts'
import { warnOfPlainChannels } from './plain-channels.ts'
import { WakeUpFlow } from './queue/wake-up-flow.ts'
import { startWorker } from './worker.ts'

await runProcess(async () => {
  const settings = readSettings()
  const log = startLog('worker', settings.LOG_LEVEL)
  const runtime = openRuntime('worker', settings, log)
  // Clients see it in timelines and callbacks, so it says nothing about the operator's hosts: the log line `working` does.
  const name = `worker-${uuidv7().slice(-12)}`
  const flow = new WakeUpFlow(runtime.metrics, runtime.shards)
  const inForce = new ShardsInForce(runtime, { mayChange: true })
  const readiness = new Readiness(runtime, () => inForce.reasonNotReady() ?? flow.reasonNotReady())
  await Promise.all([checkDatabase(runtime), checkRedis(runtime)])
  const health = await serveHealth(runtime, readiness)
  await inForce.agreed()
  const files = await keepProviderFiles(runtime)
  void warnOfPlainChannels(runtime)
  const worker = startWorker(runtime, name, flow)
  closeOnSignal(log, stopWithinMs.worker, async () => {
    readiness.drain()
    endConnections(health)
    await worker.stop()
    health.close()
    inForce.stop()
    files.stop()
    await runtime.close()
  })
  log.info({
    event: 'working',
    worker: name,
    host: hostname(),
    pid: process.pid,
    concurrency: settings.WORKER_CONCURRENCY,
  })
})
