import { createServer, type Server } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { getRequestListener } from '@hono/node-server'
import { v7 as uuidv7 } from 'uuid'
import { type Logger, logEvent } from '../platform/logger.ts'
import type { ApiApp } from './app.ts'
import { errorBody } from './errors.ts'

const headersTimeoutMs = 10_000
/** Longer than the 60 s of common load balancers, so that the balancer is the one that closes an idle connection. */
const keepAliveTimeoutMs = 65_000
const sweepEveryMs = 50

/** Serves the app; what is no HTTP at all is answered with the service's error body too. */
export async function listen(app: ApiApp, log: Logger, at: { host: string; port: number }): Promise<Server> {
  const answerUnreadable = () => {
    const { requestId, body } = unreadable(log)
    const headers = { 'Content-Type': 'application/json', 'X-Request-Id': requestId }
    return new Response(body, { status: 400, headers })
  }
  const server = createServer(
    // Joined, two Authorization headers are no valid one; left alone, Node would drop the second.
    { headersTimeout: headersTimeoutMs, keepAliveTimeout: keepAliveTimeoutMs, joinDuplicateHeaders: true },
    getRequestListener(app.fetch, { errorHandler: answerUnreadable }),
  )
  server.on('clientError', (_error, socket: Socket) => {
    if (!socket.writable) return
    const { requestId, body } = unreadable(log)
    const head = `HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nX-Request-Id: ${requestId}`
    socket.end(`${head}\r\nContent-Length: ${Buffer.byteLength(body)}\r\nConnection: close\r\n\r\n${body}`)
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  return server
}

/** Stops taking connections, answers what was begun, and resolves when all is answered. */
export async function stopListening(server: Server): Promise<void> {
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
  return { requestId, body: JSON.stringify(errorBody(400, 'This is not a valid HTTP request.', requestId)) }
}
