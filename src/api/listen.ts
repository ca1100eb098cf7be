import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'
import { getRequestListener } from '@hono/node-server'
import { v7 as uuidv7 } from 'uuid'
import { logEvent } from '../platform/logger.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiApp } from './app.ts'
import { errorBody, notHttp } from './errors.ts'
import { patience } from './patience.ts'

const looksPerTimeout = 10
/** Longer than the 60 s of common load balancers, so that the balancer is the one that closes an idle connection. */
const keepAliveTimeoutMs = 65_000
const sweepEveryMs = 50
/** Of requests sent ahead of their answers on one connection. Thousands fit into what is read at once, in one go. */
const mostSentAhead = 100

type Answering = Pick<Runtime, 'log' | 'metrics'>

interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** What is being answered on each connection: several where requests are pipelined, none where it is at rest. */
const exchangesOf = new WeakMap<Duplex, Set<Exchange>>()

const connectionsOf = new WeakMap<Server, Set<Socket>>()

function trackExchanges(server: Server, lingerMs: number): void {
  const connections = new Set<Socket>()
  connectionsOf.set(server, connections)
  server.on('connection', (socket) => {
    connections.add(socket)
    exchangesOf.set(socket, new Set())
    socket.once('close', () => connections.delete(socket))
  })
  server.prependListener('request', (request, response) => {
    const { socket } = request
    const exchange = { request, response }
    const exchanges = exchangesOf.get(socket)?.add(exchange)
    response.once('close', () => {
      // What came in one packet with it is read in this turn, and has to find it here.
      setImmediate(() => exchanges?.delete(exchange))
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
  const exchanges = exchangesOf.get(socket)
  if (!exchanges || exchanges.size <= mostSentAhead) return false
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
  { headersMs, silenceMs, lingerMs } = patience,
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
  server.setTimeout(silenceMs)
  // Node would drop what comes behind the 2,000th, say a proxy's X-Forwarded-For; their size is limited all the same.
  server.maxHeadersCount = 0
  trackExchanges(server, lingerMs)
  server.on('checkExpectation', (_request, response: ServerResponse) => {
    const { headers, body } = unreadable(runtime)
    response.writeHead(400, { ...headers, Connection: 'close' }).end(body)
  })
  server.on('clientError', (_error, socket) => refuseRaw(socket, runtime, lingerMs))
  server.on('connect', (_request, socket) => refuseRaw(socket, runtime, lingerMs))
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(at.port, at.host, resolve)
  })
  return server
}

/** Answers what Node hands over without a response to answer by, and lets its connection go. */
function refuseRaw(socket: Duplex, runtime: Answering, lingerMs: number): void {
  // What is unreadable came behind good requests: those have their answers, and nothing else is answered.
  const good = [...(exchangesOf.get(socket) ?? [])].filter(({ request }) => request.complete).at(-1)
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
 * Lets the server go without a failed request. First it goes on answering for `noticeMs`, while whoever balances over
 * several learns from `/readyz` that it is going; each answer asks for the end of its connection. Then it takes no new
 * connections, and resolves when all is answered.
 */
export async function stopListening(server: Server, noticeMs = 0): Promise<void> {
  server.prependListener('request', (_request, response: ServerResponse) => {
    response.setHeader('Connection', 'close')
  })
  await sleep(noticeMs)
  const connections = connectionsOf.get(server) ?? new Set()
  const closed = new Promise((resolve) => server.close(resolve))
  // Connections become idle as their answers get out, and Node doesn't close by itself those that never asked anything.
  const sweep = setInterval(() => {
    for (const socket of connections) if (exchangesOf.get(socket)?.size === 0) socket.destroySoon()
  }, sweepEveryMs)
  await closed
  clearInterval(sweep)
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
