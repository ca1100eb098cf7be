import { once } from 'node:events'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, Server as NetServer, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { v7 as uuidv7 } from 'uuid'
import { endConnections, exchangesOn, trackExchanges } from '../platform/exchanges.ts'
import { listenAt } from '../platform/listen-at.ts'
import { logEvent } from '../platform/logger.ts'
import type { Runtime } from '../runtime.ts'
import type { ApiApp } from './app.ts'
import { timeouts } from './client-timeouts.ts'
import { errorBody, notHttp } from './errors.ts'

const looksPerTimeout = 10
/** Longer than the 60 s of common load balancers, so that the balancer is the one that closes an idle connection. */
const keepAliveTimeoutMs = 65_000
const sweepEveryMs = 50
/** A client that asked so lately is about to ask again: its connection isn't closed under its next request. */
const asksAgainWithinMs = 1000
/** Of requests sent ahead of their answers on one connection. Thousands fit into what is read at once, in one go. */
const mostSentAhead = 100

type Answering = Pick<Runtime, 'log' | 'metrics'>

/** With the moment at which each was opened, or last had an answer. */
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
      // Nobody waits for the rest of a request that has its answer.
      if (!request.complete) setTimeout(() => request.complete || socket.destroy(), lingerMs)
    })
  })
}

const floodedConnections = new WeakSet<Duplex>()

/** Whether it came too far ahead of the answers to those before it: then the connection ends behind the last of these. */
function isFarAhead({ socket }: IncomingMessage): boolean {
  // For good: nothing behind what is left out can be answered, so nothing of it must be done.
  if (floodedConnections.has(socket)) return true
  const exchanges = exchangesOn(socket)
  if (exchanges.size <= mostSentAhead) return false
  floodedConnections.add(socket)
  const lastAnswered = [...exchanges].at(-2)
  lastAnswered?.response.once('close', () => socket.destroy())
  return true
}

/** Serves the app; what is hardly HTTP is answered with the service's error body too. */
export async function listen(
  app: ApiApp,
  runtime: Answering,
  at: { host: string; port: number },
  { headersMs, idleMs, lingerMs } = timeouts,
): Promise<Server> {
  const options = {
    headersTimeout: headersMs,
    connectionsCheckingInterval: headersMs / looksPerTimeout,
    // A whole request may take as long as its body keeps the pace: `receive` sees to that.
    requestTimeout: 0,
    keepAliveTimeout: keepAliveTimeoutMs,
    // Joined, two Authorization headers are no valid one; left alone, Node would drop the second.
    joinDuplicateHeaders: true,
    // Node's own answer to a request without a Host has no body.
    requireHostHeader: false,
  }
  const errorHandler = () => {
    const { headers, body } = unreadable(runtime)
    return new Response(body, { status: 400, headers })
  }
  const answer = getRequestListener(app.fetch, { errorHandler })
  const server = createServer(options, (request, response) => {
    if (!isFarAhead(request)) void answer(request, response)
  })
  server.setTimeout(idleMs)
  // Node would drop what comes behind the 2,000th, say a proxy's X-Forwarded-For; their size is limited all the same.
  server.maxHeadersCount = 0
  trackConnections(server, lingerMs)
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    const { headers, body } = unreadable(runtime)
    response.writeHead(400, { ...headers, Connection: 'close' }).end(body)
  })
  server.on('clientError', (_error, socket) => refuseRaw(socket, runtime, lingerMs))
  server.on('connect', (_request, socket) => refuseRaw(socket, runtime, lingerMs))
  await listenAt(server, { ...at, settings: { host: 'HOST', port: 'PORT' } })
  return server
}

/** Answers what Node hands over without a response to answer by, and lets its connection go. */
function refuseRaw(socket: Duplex, runtime: Answering, lingerMs: number): void {
  // What is unreadable came behind good requests: those have their answers, and nothing else is answered.
  const good = [...exchangesOn(socket)].filter(({ request }) => request.complete).at(-1)
  if (good) {
    if (good.response.closed) socket.destroy()
    else good.response.once('close', () => socket.destroy())
    return
  }
  if (!socket.writable) return
  const { headers, body } = unreadable(runtime)
  const lines = Object.entries({ ...headers, 'Content-Length': Buffer.byteLength(body), Connection: 'close' })
  const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('')
  // A client that doesn't close its side would keep the connection for ever.
  setTimeout(() => socket.destroy(), lingerMs)
  socket.end(`HTTP/1.1 400 Bad Request\r\n${head}\r\n${body}`)
}

/**
 * Lets the server go without a failed request. From now on the last answer on each connection asks for its end. First the server
 * goes on taking connections for `noticeMs`, while whoever balances over several learns from `/readyz` that it is going.
 * Then it takes none, and resolves when all is answered, and clients that asked lately have had `askAgainMs` to ask again.
 */
export async function stopListening(
  server: Server,
  { noticeMs = 0, askAgainMs = asksAgainWithinMs } = {},
): Promise<void> {
  const connections = connectionsOf.get(server) ?? new Map<Socket, number>()
  endConnections(server)
  await sleep(noticeMs)
  const closed = once(server, 'close')
  // Not the HTTP server's own way to close, which also closes connections that are idle at the moment.
  NetServer.prototype.close.call(server)
  const sweep = () => {
    for (const [socket, activeAt] of connections) {
      const isIdle = exchangesOn(socket).size === 0
      if (isIdle && performance.now() - activeAt >= askAgainMs) socket.destroySoon()
    }
  }
  sweep()
  // Node doesn't close those by itself that never ask anything.
  const sweeping = setInterval(sweep, sweepEveryMs)
  await closed
  clearInterval(sweeping)
  // Ends its look at slow requests.
  server.close()
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port
}

function unreadable({ log, metrics }: Answering) {
  const requestId = uuidv7()
  metrics.requests.inc({ route: 'none', status: 400 })
  logEvent(log, requestId, 'rejected', { statusCode: 400 })
  const headers = { 'Content-Type': 'application/json', 'X-Request-Id': requestId }
  return { headers, body: JSON.stringify(errorBody(400, notHttp().message, requestId)) }
}
