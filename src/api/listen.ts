import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { v7 as uuidv7 } from 'uuid'
import { type Logger, logEvent } from '../platform/logger.ts'
import type { ApiApp } from './app.ts'
import { errorBody } from './errors.ts'

const headersTimeoutMs = 10_000
const lookForTimeoutsEveryMs = 1000
/** Longer than the 60 s of common load balancers, so that the balancer is the one that closes an idle connection. */
const keepAliveTimeoutMs = 65_000
const sweepEveryMs = 50

/** Serves the app; what is hardly HTTP is answered with the service's error body too. */
export async function listen(app: ApiApp, log: Logger, at: { host: string; port: number }): Promise<Server> {
  const options = {
    headersTimeout: headersTimeoutMs,
    connectionsCheckingInterval: lookForTimeoutsEveryMs,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Joined, two Authorization headers are no valid one; left alone, Node would drop the second.
    joinDuplicateHeaders: true,
    // Node's own answer to a request without a Host has no body.
    requireHostHeader: false,
  }
  const errorHandler = () => {
    const { headers, body } = unreadable(log)
    return new Response(body, { status: 400, headers })
  }
  const server = createServer(options, getRequestListener(app.fetch, { errorHandler }))
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    const { headers, body } = unreadable(log)
    response.writeHead(400, { ...headers, Connection: 'close' }).end(body)
  })
  const answerRaw = (socket: Duplex) => {
    if (!socket.writable) return
    const { headers, body } = unreadable(log)
    const lines = Object.entries({
      ...headers,
      'Content-Length': Buffer.byteLength(body),
      Connection: 'close',
    })
    const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
    socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${body}`)
  }
  server.on('clientError', (_error, socket) => answerRaw(socket))
  server.on('connect', (_request, socket) => answerRaw(socket))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  return server
}

/**
 * Lets the server go without a failed request. First it goes on answering for `noticeMs`, while whoever balances over
 * several learns from `/readyz` that it is going; each answer asks for the end of its connection. Then it takes no new
 * connections, and resolves when all is answered.
 */
export async function stopListening(server: Server, noticeMs = 0): Promise<void> {
  server.prependListener('request', (_request, response: ServerResponse) => {
    response.setHeader('Connection', 'close')
  })
  await sleep(noticeMs)
  const closed = new Promise((resolve) => server.close(resolve))
  // A kept-alive connection is idle only once its answer is out, and Node doesn't look again by itself.
  const sweep = setInterval(() => server.closeIdleConnections(), sweepEveryMs)
  await closed
  clearInterval(sweep)
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function unreadable(log: Logger) {
  const requestId = uuidv7()
  logEvent(log, requestId, 'rejected', { statusCode: 400 })
  const headers = { 'Content-Type': 'application/json', 'X-Request-Id': requestId }
  return { headers, body: JSON.stringify(errorBody(400, 'This is not a valid HTTP request.', requestId)) }
}
