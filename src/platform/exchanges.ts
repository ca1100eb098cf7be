import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'

export interface Exchange {
  request: IncomingMessage
  response: ServerResponse
}

/** What is being answered on each connection: several where requests are pipelined, none where it is idle. */
const exchangesOf = new WeakMap<Duplex, Set<Exchange>>()
const draining = new WeakSet<Server>()
const socketsOf = new WeakMap<Server, Set<Duplex>>()

const none: ReadonlySet<Exchange> = new Set()

/** Of one connection, the oldest first. */
export function exchangesOn(socket: Duplex): ReadonlySet<Exchange> {
  return exchangesOf.get(socket) ?? none
}

/** Keeps account of a server's exchanges, for `exchangesOn` and `endConnections`. */
export function trackExchanges(server: Server): void {
  const sockets = new Set<Duplex>()
  socketsOf.set(server, sockets)
  server.on('connection', (socket) => {
    sockets.add(socket)
    exchangesOf.set(socket, new Set())
    socket.once('close', () => sockets.delete(socket))
  })
  server.prependListener('request', (request, response) => {
    const exchange = { request, response }
    const exchanges = exchangesOf.get(request.socket)?.add(exchange)
    if (exchanges && draining.has(server)) endBehindLast(exchanges)
    // What came in one packet with it is read in this turn, and has to find it here.
    response.once('close', () => setImmediate(() => exchanges?.delete(exchange)))
  })
}

/** From now on every connection of the server ends behind the last answer to what was asked on it. */
export function endConnections(server: Server): void {
  draining.add(server)
  for (const socket of socketsOf.get(server) ?? []) endBehindLast(exchangesOn(socket))
}

/** Only the last of pipelined answers may ask for the end: Node.js sends none behind one that does. */
function endBehindLast(exchanges: ReadonlySet<Exchange>): void {
  const [last, ...earlier] = [...exchanges].map(({ response }) => response).reverse()
  for (const response of earlier) if (!response.headersSent) response.removeHeader('Connection')
  if (last && !last.headersSent) last.setHeader('Connection', 'close')
}
