import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { v7 as uuidv7 } from 'uuid'
import { endConnections, exchangesOn, trackExchanges } from '../../platform/http/exchanges.ts'
import { listenAt } from '../../platform/http/listen-at.ts'
import { oneByOne } from '../../platform/http/one-by-one.ts'
import { readRestInTurns } from '../../platform/http/rests.ts'
import { closeUnread } from '../../platform/http/unread-answers.ts'
import { logEvent } from '../../platform/log/logger.ts'
import type { Needs } from '../../runtime.ts'
import { jsonHeaders } from '../answer.ts'
import type { ApiApp } from '../app.ts'
import { headersOfCode } from '../errors/headers.ts'
import { ApiError, errorBody, notHttp } from '../errors.ts'
import { timeouts } from './client-timeouts.ts'

const checksPerTimeout = 10
/** Longer than the 60 s of common load balancers, so that the balancer closes an idle connection, not the API. */
export const keepAliveTimeoutMs = 65_000
const closeIdleEveryMs = 50
/** A client is likely to send another request within this time after its last one, so its connection isn't closed before. */
const asksAgainWithinMs = 1000
/** Limit of a request's headers: to read thousands, as 16 KiB hold, takes a millisecond each time. */
export const maxHeaders = 100
/** A load balancer that checks the API does so within the first time, and notices within the second that it is draining. */
export const balancers = { askWithinMs: 30_000, noticeWithinMs: 4000 }

type Answering = Needs<'log' | 'metrics', 'PUBLIC_BASE_URL'>

/** A server's connections, each with the time at which it was opened or last had an answer. */
const connectionsOf = new WeakMap<Server, Map<Socket, number>>()

function trackConnections(server: Server, lingerMs: number): void {
  const connections = new Map<Socket, number>()
  connectionsOf.set(server, connections)
  trackExchanges(server)
  server.on('connection', (socket) => {
    connections.set(socket, performance.now())
    socket.once('close', () => connections.delete(socket))
  })
  server.prependListener('request', (request, response) => {
    const { socket } = request
    response.once('close', () => {
      if (connections.has(socket)) connections.set(socket, performance.now())
      if (request.complete) return
      readRestInTurns(request)
      setTimeout(() => request.complete || socket.destroy(), lingerMs)
    })
  })
}

/** Serves the app. Invalid HTTP also gets an error in the service's form. */
export async function listen(
  app: ApiApp,
  runtime: Answering,
  at: { host: string; port: number },
  { headersMs, idleMs, lingerMs, bodyGraceMs, bodyBytesPerSecond } = timeouts,
): Promise<Server> {
  const options = {
    headersTimeout: headersMs,
    connectionsCheckingInterval: headersMs / checksPerTimeout,
    // Unlimited, because `receive` checks the pace of the body.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Two Authorization headers are joined, which makes them invalid. Otherwise Node.js would drop the second one.
    joinDuplicateHeaders: true,
    // Node.js's own answer to a request without a Host has no body: `lacksHost` answers it.
    requireHostHeader: false,
  }
  const errorHandler = () => {
    const { headers, body } = unreadable(runtime)
    return new Response(body, { status: 400, headers })
  }
  const refuse = (response: ServerResponse, why?: ApiError) => {
    const { headers, body } = unreadable(runtime, why)
    response.writeHead(400, { ...headers, Connection: 'close' }).end(body)
  }
  // The host name stands in for the Host header, which a request by HTTP/1.0 may lack.
  const answer = getRequestListener(app.fetch, { errorHandler, hostname: 'localhost' })
  const server = createServer(
    options,
    oneByOne((request, response) => {
      if (hasTooManyHeaders(request)) refuse(response, tooManyHeaders())
      else if (lacksHost(request)) refuse(response)
      else void answer(request, response)
    }),
  )
  server.setTimeout(idleMs)
  // Node.js drops further ones, and the request is refused for this one.
  server.maxHeadersCount = maxHeaders + 1
  trackConnections(server, lingerMs)
  closeUnread(server, { graceMs: bodyGraceMs, bytesPerSecond: bodyBytesPerSecond })
  server.on('checkExpectation', (_request, response: ServerResponse) => refuse(response))
  server.on('clientError', (_error, socket) => refuseRaw(socket, runtime, lingerMs))
  server.on('connect', (_request, socket) => refuseRaw(socket, runtime, lingerMs))
  await listenAt(server, { ...at, settings: { host: 'HOST', port: 'PORT' } })
  return server
}

/** RFC 9112, 3.2: invalid by HTTP/1.1, but not by HTTP/1.0, in which load balancers such as HAProxy check `/readyz`. */
function lacksHost({ httpVersion, headers }: IncomingMessage): boolean {
  return httpVersion !== '1.0' && !headers.host
}

const tooManyHeaders = () =>
  new ApiError('invalid_http', `The request has more than ${maxHeaders} headers: send fewer.`)

/** The names and the values. */
const hasTooManyHeaders = ({ rawHeaders }: IncomingMessage) => rawHeaders.length > 2 * maxHeaders

/** Answers a request that Node.js passes without a response object, and closes its connection. */
function refuseRaw(socket: Duplex, runtime: Answering, lingerMs: number): void {
  // After valid requests on the same connection, those are answered, and the invalid one is not.
  const good = [...exchangesOn(socket)].filter(({ request }) => request.complete).at(-1)
  if (good) {
    if (good.response.closed) socket.destroy()
    else good.response.once('close', () => socket.destroy())
    return
  }
  if (!socket.writable) return
  const { headers, body } = unreadable(runtime)
  const lines = Object.entries({ ...headers, Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  // A client that doesn't close its side would keep the connection open forever.
  setTimeout(() => socket.destroy(), lingerMs)
  socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${body}`)
}

/**
 * Stops the server without failing a request. From now on the last answer on each connection closes it. The server accepts
 * connections for another `noticeMs`, in which a load balancer notices by `/readyz` that it is draining. Then it accepts none,
 * and resolves when all requests are answered, and clients have had `askAgainMs` since their last answer to send another one.
 */
export async function stopListening(
  server: Server,
  { noticeMs = 0, askAgainMs = asksAgainWithinMs } = {},
): Promise<void> {
  const connections = connectionsOf.get(server) ?? new Map<Socket, number>()
  endConnections(server)
  await sleep(noticeMs)
  const closed = once(server, 'close')
  // Not the HTTP server's own `close`, which would also close connections that are idle at the moment.
  NetServer.prototype.close.call(server)
  const closeIdle = () => {
    for (const [socket, activeAt] of connections) {
      const isIdle = exchangesOn(socket).size === 0
      if (isIdle && performance.now() - activeAt >= askAgainMs) socket.destroySoon()
    }
  }
  closeIdle()
  // Node.js doesn't close connections by itself on which no request was ever sent.
  const closing = setInterval(closeIdle, closeIdleEveryMs)
  await closed
  clearInterval(closing)
  // Ends Node.js's timer for slow requests.
  server.close()
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function unreadable({ log, metrics, settings }: Answering, { code, message } = notHttp()) {
  const requestId = uuidv7()
  metrics.requests.inc({ route: 'none', status: 400 })
  logEvent(log, requestId, 'rejected', { statusCode: 400, code })
  const body = JSON.stringify(errorBody(400, message, requestId))
  const length = String(Buffer.byteLength(body))
  const headers = {
    ...jsonHeaders,
    ...headersOfCode(code, settings.PUBLIC_BASE_URL),
    'Content-Length': length,
    'X-Request-Id': requestId,
  }
  return { headers, body }
}
