import { createLogger } from '../platform/logger.ts'
import { closeOnSignal, runProcess, stopWithinMs } from '../platform/process.ts'
import { Readiness } from '../platform/readiness.ts'
import { readAdminSettings } from '../platform/settings.ts'
import { checkDatabase } from '../platform/start-check.ts'
import { openRuntime } from '../runtime.ts'
import { createAdminApp } from './app.ts'
import { listen } from './listen.ts'

await runProcess(async () => {
  const settings = readAdminSettings()
  const log = createLogger(settings.LOG_LEVEL)
  const runtime = openRuntime('admin', settings, log)
  const readiness = new Readiness(runtime)
  await checkDatabase(runtime)
  const at = { host: settings.ADMIN_HOST, port: settings.ADMIN_PORT }
  const server = await listen(createAdminApp(runtime, readiness), at)
  closeOnSignal(log, stopWithinMs.admin, async () => {
    readiness.drain()
    await server.stop()
    await runtime.close()
  })
  log.info({ event: 'serving_admin', host: at.host, adminPort: server.port })
})
