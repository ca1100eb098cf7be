import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { inNextTurn, noteReadAhead } from './turns.ts'

/** Limit of pipelined requests on one connection. Thousands of them may fit into one read. */
export const maxPipelined = 100
/** How many pipelined requests a process begins before it looks for other work. */
const begunPerTurn = 8
/** After this long, it begins no more of them. */
const turnMs = 5

interface Line {
  isBusy: boolean
  /** Bytes of the connection that had been read when its last request came. */
  bytesRead: number
  /** Requests that were read before earlier ones were answered. Created with the first one, as few clients pipeline. */
  waiting: [IncomingMessage, ServerResponse][] | undefined
  /** For good: no request after a dropped one can be answered, so none may be processed. */
  isFlooded: boolean
}

/**
 * Answers the requests of a connection one after another: the next one when the operating system has taken the whole answer to
 * the last one. Node.js itself passes on all that it has read, and keeps their answers until the client reads them. More than
 * `maxPipelined` close the connection after the last allowed one is answered.
 */
export function oneByOne(answer: RequestListener): RequestListener {
  const lines = new WeakMap<Socket, Line>()

  const begin = (line: Line, request: IncomingMessage, response: ServerResponse) => {
    line.isBusy = true
    response.once('close', () => {
      line.isBusy = line.waiting !== undefined
      if (line.waiting) beginInTurn(() => advance(line, request.socket))
    })
    answer(request, response)
  }

  const advance = (line: Line, socket: Socket) => {
    const next = socket.destroyed ? undefined : line.waiting?.shift()
    if (line.waiting?.length === 0 && !line.isFlooded) socket.resume()
    if (next) return begin(line, ...next)
    line.isBusy = false
    if (line.isFlooded) socket.destroy()
  }

  return (request, response) => {
    const { socket } = request
    const line = lines.get(socket) ?? { isBusy: false, bytesRead: 0, waiting: undefined, isFlooded: false }
    if (line.isFlooded) return
    const { bytesRead } = socket
    // Requests with bodies: Node.js lets one be answered before it parses the next one of the same read: a hundred would be at once.
    const isReadAhead = line.isBusy || line.bytesRead === bytesRead
    line.bytesRead = bytesRead
    if (!isReadAhead) {
      lines.set(socket, line)
      return begin(line, request, response)
    }
    line.waiting ??= waitingOn(socket)
    noteReadAhead(socket)
    if (line.waiting.length + 1 < maxPipelined) line.waiting.push([request, response])
    else line.isFlooded = true
    socket.pause()
    if (line.isBusy) return
    line.isBusy = true
    beginInTurn(() => advance(line, socket))
  }
}

function waitingOn(socket: Socket): [IncomingMessage, ServerResponse][] {
  const waiting: [IncomingMessage, ServerResponse][] = []
  // Node.js resumes the connection at the end of each answer, and whenever a body is read.
  socket.on('resume', () => waiting.length > 0 && socket.pause())
  // Before Node.js does so, with an error for each, whose stack traces would take half a second for a flood's connections.
  socket.prependOnceListener('close', () => {
    for (const [request] of waiting) request.destroy()
  })
  return waiting
}

const due: (() => void)[] = []
let isTurnPlanned = false
let turnEndsAt = 0

/** Between two turns, the event loop serves the other connections: they don't wait for all that is pipelined. */
function beginInTurn(work: () => void): void {
  due.push(work)
  if (!isTurnPlanned) planTurn()
}

function planTurn(): void {
  isTurnPlanned = true
  inNextTurn(() => {
    turnEndsAt = performance.now() + turnMs
    // One after the other, so that what a request does at once is over before the next one begins.
    for (let count = 0; count < begunPerTurn; count++)
      setImmediate(() => performance.now() < turnEndsAt && due.shift()?.())
    setImmediate(() => {
      isTurnPlanned = false
      if (due.length > 0) planTurn()
    })
  })
}
