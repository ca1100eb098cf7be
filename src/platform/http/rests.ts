import type { IncomingMessage } from 'node:http'

/** Requests that are answered, though the rest of their bodies isn't read yet, those that wait longest first. Their sockets are paused. */
const waiting = new Set<IncomingMessage>()
/** How many of them are read in a turn: Node.js reads up to 2 MiB of each. */
const readPerTurn = 4
/** Between two turns, so that clients that send nothing cost nothing. */
const turnEveryMs = 5
let turns: NodeJS.Timeout | undefined

/**
 * Reads the rest of a request that is answered already, for some connections a turn: Node.js itself would read all of them at once,
 * half a second for a hundred.
 */
export function readRestInTurns(request: IncomingMessage): void {
  const { socket } = request
  if (request.complete || socket.destroyed) return
  socket.pause()
  waiting.add(request)
  turns ??= setInterval(readSome, turnEveryMs).unref()
}

function readSome(): void {
  for (const request of [...waiting].slice(0, readPerTurn)) {
    waiting.delete(request)
    request.socket.resume()
    // One read later, what is left of it waits for another turn.
    setImmediate(readRestInTurns, request)
  }
  if (waiting.size > 0) return
  clearInterval(turns)
  turns = undefined
}
