import { Readiness } from '../platform/health/readiness.ts'
import { closeOnSignal, runProcess, stopWithinMs } from '../platform/process/process.ts'
import { checkDatabase, checkRedis } from '../platform/process/start-check.ts'
import { startLog } from '../platform/process/start-log.ts'
import { readAdminSettings } from '../platform/settings/settings.ts'
import { keepProviderFiles } from '../provider-files.ts'
import { ShardsInForce } from '../queue/shards-in-force.ts'
import { openRuntime } from '../runtime.ts'
import { createAdminApp } from './app.ts'
import { listen } from './http/listen.ts'

await runProcess(async () => {
  const settings = readAdminSettings()
  const log = startLog('admin', settings.LOG_LEVEL)
  const runtime = openRuntime('admin', settings, log)
  const inForce = new ShardsInForce(runtime)
  const readiness = new Readiness(runtime, () => inForce.reasonNotReady())
  await Promise.all([checkDatabase(runtime), checkRedis(runtime)])
  // Its pages are of use with another number of shards, too.
  void inForce.agreed()
  const files = await keepProviderFiles(runtime)
  const at = { host: settings.ADMIN_HOST, port: settings.ADMIN_PORT }
  const server = await listen(createAdminApp(runtime, readiness), at)
  closeOnSignal(log, stopWithinMs.admin, async () => {
    readiness.drain()
    inForce.stop()
    files.stop()
    await server.stop()
    await runtime.close()
  })
  log.info({ event: 'serving_admin', host: at.host, adminPort: server.port })
})
