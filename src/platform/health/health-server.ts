import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from 'node:http'
import { v7 as uuidv7 } from 'uuid'
import type { Clients } from '../clients.ts'
import { trackExchanges } from '../http/exchanges.ts'
import { listenAt } from '../http/listen-at.ts'
import { oneByOne } from '../http/one-by-one.ts'
import { closeUnread } from '../http/unread-answers.ts'
import { build } from '../process/build.ts'
import type { Readiness } from './readiness.ts'
import { scrape } from './scrape.ts'

const retryAfterSeconds = '1'

interface Answer {
  statusCode: number
  contentType: string
  body: string
}

/**
 * Serves `/healthz`, `/readyz` and `/metrics` on `METRICS_PORT`, for supervisors and Prometheus. Errors have the service's
 * four fields. If the port is taken, for example by another process on the same machine, a free port is used and logged.
 */
export async function serveHealth(
  runtime: Pick<Clients, 'settings' | 'log' | 'metrics' | 'db' | 'database' | 'shards' | 'formerShards'>,
  readiness: Readiness,
): Promise<Server> {
  const { log, settings } = runtime
  const routes: Record<string, (requestId: string) => Promise<Answer>> = {
    '/healthz': async () => ok({ version: build.version }),
    '/readyz': async (requestId) => {
      const reason = await readiness.reasonNotReady()
      return reason === undefined ? ok() : refusal(503, reason, requestId)
    },
    '/metrics': async () => {
      const { contentType, text } = await scrape(runtime, readiness)
      return { statusCode: 200, contentType, body: text }
    },
  }
  const respond = async (request: IncomingMessage, response: ServerResponse) => {
    const requestId = uuidv7()
    const route = routes[request.url?.split('?')[0] ?? '']
    const answer = route ? await route(requestId) : refusal(404, 'No such route.', requestId)
    response
      .writeHead(answer.statusCode, {
        'Content-Type': answer.contentType,
        'X-Request-Id': requestId,
        ...(answer.statusCode === 503 && { 'Retry-After': retryAfterSeconds }),
      })
      .end(answer.body)
  }
  const server = createServer(oneByOne((request, response) => void respond(request, response)))
  trackExchanges(server)
  closeUnread(server)
  const { METRICS_HOST: host, METRICS_PORT } = settings
  const settingNames = { host: 'METRICS_HOST', port: 'METRICS_PORT' }
  await listenAt(server, { host, port: METRICS_PORT, settings: settingNames }).catch(async (error) => {
    if (error.code !== 'EADDRINUSE') throw error
    const reason = 'give each process a METRICS_PORT of its own'
    log.warn({ event: 'metrics_port_taken', metricsPort: METRICS_PORT, reason })
    await listenAt(server, { host, port: 0, settings: settingNames })
  })
  const address = server.address()
  const metricsPort = typeof address === 'object' ? address?.port : undefined
  log.info({ event: 'serving_health', host, metricsPort })
  return server
}

const json = 'application/json'
const ok = (more: object = {}): Answer => ({
  statusCode: 200,
  contentType: json,
  body: JSON.stringify({ status: 'ok', ...more }),
})

function refusal(statusCode: number, message: string, requestId: string): Answer {
  const error = { statusCode, error: STATUS_CODES[statusCode], message, requestId }
  return { statusCode, contentType: json, body: JSON.stringify(error) }
}
