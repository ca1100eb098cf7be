import type { Socket } from 'node:net'

/** For how long a process reads pipelined requests ahead in a turn before other connections wait for the next one. */
const readAheadMs = 5
/** How many connections are accepted before a turn begins in any case. */
const acceptedPerTurn = 200

interface Connection {
  /** Its requests in progress. */
  exchanges: ReadonlySet<unknown>
  /** The open connections of its server. */
  beside: ReadonlySet<Socket>
}

const connections = new WeakMap<Socket, Connection>()
let accepted = 0
let readsUntil = 0
let isReadEnough = false
let isTurnPlanned = false
/** Connections without a request in progress, that aren't read for now. */
const held = new Set<Socket>()
/** Connections whose turn it is: on hold again before they are read, they would wait for all others once more. */
let inTurn: readonly Socket[] = []

/**
 * Runs the work after the event loop has served the other connections, and has accepted those that wait for it: it accepts
 * one a round, so that a health check behind a flood's connections would wait for as many turns.
 */
export function inNextTurn(work: () => void, acceptedBefore = accepted): void {
  const acceptedByNow = accepted
  setImmediate(() => {
    if (accepted === acceptedByNow || accepted - acceptedBefore > acceptedPerTurn) work()
    else inNextTurn(work, acceptedBefore)
  })
}

/** For each new connection. */
export function noteAccepted(socket: Socket, connection: Connection): void {
  connections.set(socket, connection)
  accepted++
  // Node.js begins to read it in this tick.
  if (isReadEnough) process.nextTick(hold, socket)
}

/**
 * For each request that was read before the one before it was answered. After some time, the connections that have no request
 * in progress are read two a turn: to read a hundred of pipelined requests takes milliseconds, and a health check
 * doesn't wait for all connections of a flood.
 */
export function noteReadAhead(socket: Socket): void {
  if (!isTurnPlanned) planTurn()
  if (isReadEnough || performance.now() < readsUntil) return
  isReadEnough = true
  for (const other of connections.get(socket)?.beside ?? []) hold(other)
}

function hold(socket: Socket): void {
  const isBusy = connections.get(socket)?.exchanges.size !== 0
  if (isBusy || inTurn.includes(socket) || socket.isPaused() || socket.destroyed) return
  socket.pause()
  held.add(socket)
}

function planTurn(): void {
  isTurnPlanned = true
  readsUntil = performance.now() + readAheadMs
  inNextTurn(() => {
    isReadEnough = false
    const waiting = [...held]
    // The one that waits longest, and the newest, which is no part of a flood that began before it.
    inTurn = [...waiting.slice(0, 1), ...waiting.slice(1).slice(-1)]
    for (const next of inTurn) {
      held.delete(next)
      next.resume()
    }
    if (inTurn.length > 0) planTurn()
    else isTurnPlanned = false
  })
}
