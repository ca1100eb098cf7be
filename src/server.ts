import { createApp } from './api/app.ts'
import { listen, portOf, stopListening } from './api/listen.ts'
import { createLogger } from './platform/logger.ts'
import { closeOnSignal, runProcess } from './platform/process.ts'
import { readyWithin } from './platform/redis.ts'
import { openRuntime } from './platform/runtime.ts'
import { readSettings } from './platform/settings.ts'

const drainMs = 10_000
const waitForRedisMs = 1000

await runProcess(async () => {
  const settings = readSettings()
  const log = createLogger(settings.LOG_LEVEL)
  const runtime = openRuntime('api', settings, log)
  // Until then this process would count requests for itself.
  await readyWithin(runtime.redis, waitForRedisMs)
  const server = await listen(createApp(runtime), log, { host: settings.HOST, port: settings.PORT })
  log.info({ event: 'listening', host: settings.HOST, port: portOf(server) })
  closeOnSignal(log, drainMs, async () => {
    await stopListening(server)
    await runtime.close()
  })
})
