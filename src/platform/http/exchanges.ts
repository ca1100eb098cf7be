import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { noteAccepted } from './turns.ts'

export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** The requests in progress on each connection: several where requests are pipelined, none where it is idle. */
const exchangesOf = new WeakMap<Duplex, Set<Exchange>>()
const draining = new WeakSet<Server>()
const openSockets = new WeakMap<Server, Set<Socket>>()

const none: ReadonlySet<never> = new Set()

/** The requests in progress on one connection, oldest first. */
export function exchangesOn(socket: Duplex): ReadonlySet<Exchange> {
  return exchangesOf.get(socket) ?? none
}

/** The open connections of a server with `trackExchanges`. */
export function socketsOf(server: Server): ReadonlySet<Socket> {
  return openSockets.get(server) ?? none
}

/** Records a server's requests in progress, for `exchangesOn`, `socketsOf` and `endConnections`. */
export function trackExchanges(server: Server): void {
  const sockets = new Set<Socket>()
  openSockets.set(server, sockets)
  server.on('connection', (socket) => {
    sockets.add(socket)
    const exchanges = new Set<Exchange>()
    exchangesOf.set(socket, exchanges)
    noteAccepted(socket, { exchanges, beside: sockets })
    socket.once('close', () => sockets.delete(socket))
  })
  server.prependListener('request', (request, response) => {
    const exchange = { request, response }
    const exchanges = exchangesOf.get(request.socket)?.add(exchange)
    if (exchanges && draining.has(server)) closeAfterLast(exchanges)
    // Pipelined requests of the same packet are read in this tick, and still need this one in the set.
    response.once('close', () => setImmediate(() => exchanges?.delete(exchange)))
  })
}

/** From now on the server closes each connection after the last response due on it. */
export function endConnections(server: Server): void {
  draining.add(server)
  for (const socket of socketsOf(server)) closeAfterLast(exchangesOn(socket))
}

/** Only the last pipelined response may carry `Connection: close`: Node.js sends no response after it. */
function closeAfterLast(exchanges: ReadonlySet<Exchange>): void {
  const [last, ...earlier] = [...exchanges].map(({ response }) => response).reverse()
  for (const response of earlier) if (!response.headersSent) response.removeHeader('Connection')
  if (last && !last.headersSent) last.setHeader('Connection', 'close')
}
