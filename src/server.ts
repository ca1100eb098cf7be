import { createApp } from './api/app.ts'
import { balancers, listen, portOf, stopListening } from './api/http/listen.ts'
import { serveHealth } from './platform/health/health-server.ts'
import { Readiness } from './platform/health/readiness.ts'
import { endConnections } from './platform/http/exchanges.ts'
import { closeOnSignal, runProcess, stopWithinMs } from './platform/process/process.ts'
import { checkDatabase, checkRedis } from './platform/process/start-check.ts'
import { startLog } from './platform/process/start-log.ts'
import { readSettings } from './platform/settings/settings.ts'
import { keepProviderFiles } from './provider-files.ts'
import { ShardsInForce } from './queue/shards-in-force.ts'
import { openRuntime } from './runtime.ts'

await runProcess(async () => {
  const settings = readSettings()
  const log = startLog('api', settings.LOG_LEVEL)
  const runtime = openRuntime('api', settings, log)
  const inForce = new ShardsInForce(runtime)
  const readiness = new Readiness(runtime, () => inForce.reasonNotReady())
  await Promise.all([checkDatabase(runtime), checkRedis(runtime)])
  const health = await serveHealth(runtime, readiness)
  await inForce.agreed()
  const files = await keepProviderFiles(runtime)
  const server = await listen(createApp(runtime, readiness), runtime, {
    host: settings.HOST,
    port: settings.PORT,
  })
  closeOnSignal(log, stopWithinMs.api, async () => {
    readiness.drain()
    endConnections(health)
    const isBalanced = readiness.wasAskedWithin(balancers.askWithinMs)
    await stopListening(server, { noticeMs: isBalanced ? balancers.noticeWithinMs : 0 })
    health.close()
    inForce.stop()
    files.stop()
    await runtime.close()
  })
  log.info({ event: 'listening', host: settings.HOST, port: portOf(server) })
})
