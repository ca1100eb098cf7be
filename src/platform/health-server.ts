import { once } from 'node:events'
import { createServer, type Server, STATUS_CODES } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import type { Logger } from './logger.ts'
import type { Readiness } from './readiness.ts'
import type { Settings } from './settings.ts'

/**
 * Serves `/healthz` and `/readyz` on `METRICS_PORT`, apart from the API's own port, for what runs the process. Errors
 * have the service's four fields. Where the port is taken, say by another process on the same machine, it is a free one.
 */
export async function serveHealth(
  settings: Pick<Settings, 'METRICS_HOST' | 'METRICS_PORT'>,
  readiness: Readiness,
  log: Logger,
): Promise<Server> {
  const routes: Record<string, () => Promise<string | undefined>> = {
    '/healthz': async () => undefined,
    '/readyz': () => readiness.hindrance(),
  }
  const server = createServer(async (request, response) => {
    const route = routes[request.url?.split('?')[0] ?? '']
    const hindrance = route ? await route() : 'No such route.'
    const statusCode = route ? (hindrance === undefined ? 200 : 503) : 404
    const requestId = uuidv7()
    const error = { statusCode, error: STATUS_CODES[statusCode], message: hindrance, requestId }
    const body = JSON.stringify(hindrance === undefined ? { status: 'ok' } : error)
    response
      .writeHead(statusCode, { 'Content-Type': 'application/json', 'X-Request-Id': requestId })
      .end(body)
  })
  const { METRICS_HOST: host, METRICS_PORT } = settings
  await listenOn(server, host, METRICS_PORT).catch(async (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EADDRINUSE') throw error
    log.warn({ event: 'metrics_port_taken', metricsPort: METRICS_PORT, reason: 'give each process its own' })
    await listenOn(server, host, 0)
  })
  const address = server.address()
  const metricsPort = typeof address === 'object' ? address?.port : undefined
  log.info({ event: 'serving_health', host, metricsPort })
  return server
}

async function listenOn(server: Server, host: string, port: number): Promise<void> {
  server.listen(port, host)
  await once(server, 'listening')
}
