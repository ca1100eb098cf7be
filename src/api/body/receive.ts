import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Reservation } from '../../platform/memory/memory-budget.ts'
import { ApiError } from '../errors.ts'
import type { ClientTimeouts } from '../http/client-timeouts.ts'
import { smallBytes } from './large/large-bodies.ts'
import { Pieces } from './pieces.ts'

const checksPerGrace = 10

/**
 * Receives the body, in pieces. Memory is reserved only after more than a small body was received, so that a client that
 * declares much and sends little reserves nothing.
 *
 * @throws ApiError 400 as soon as the body is larger than `maxBytes`, too slow, or ends early; NotAcquired, answered with 503,
 * if there is no memory for it. The rest of the body is dropped.
 */
export async function receive(
  incoming: IncomingMessage,
  maxBytes: number,
  timeouts: ClientTimeouts,
  memory: Reservation,
): Promise<Buffer[]> {
  // Most bodies arrive together with the headers, and are complete after this.
  await undefined
  if (isReceived(incoming) && incoming.readableLength <= Math.min(smallBytes, maxBytes)) {
    const body: Buffer | null = incoming.read()
    // Node.js considers the request finished only when its end is read too, which comes after the body.
    if (!incoming.complete) incoming.resume()
    return body ? [body] : []
  }
  return await receiveByPieces(incoming, maxBytes, timeouts, memory)
}

function isReceived({ complete, headers, readableLength }: IncomingMessage): boolean {
  return complete || Number(headers['content-length']) === readableLength
}

function receiveByPieces(
  incoming: IncomingMessage,
  maxBytes: number,
  timeouts: ClientTimeouts,
  memory: Reservation,
): Promise<Buffer[]> {
  const { bodyGraceMs, bodyBytesPerSecond } = timeouts
  const declared = Number(incoming.headers['content-length'] ?? maxBytes)
  const gone = new AbortController()
  let startedAt = performance.now()
  let received = new Pieces()
  let isLarge = false

  return new Promise((resolve, reject) => {
    const stop = () => {
      clearInterval(pace)
      incoming.off('data', take).off('end', complete).off('close', breakOff).off('error', breakOff)
    }
    const refuse = (error: Error) => {
      stop()
      gone.abort(error)
      incoming.resume()
      received = new Pieces()
      reject(error)
    }
    const take = (piece: Buffer) => {
      if (received.length + piece.length > maxBytes) return refuse(tooLarge(maxBytes))
      if (received.length + piece.length > smallBytes && !isLarge) return void waitForMemory(piece)
      received.add(piece)
    }
    // The `end` event can't come during this wait. Node.js buffers no more than a small body (its high-water mark and one read),
    // so the piece that exceeds a small body was just read from the socket, and reading is paused.
    const waitForMemory = async (piece: Buffer) => {
      isLarge = true
      clearInterval(pace)
      const waitsFrom = performance.now()
      const resume = pauseReading(incoming)
      try {
        await memory.reserve(declared, gone.signal)
      } catch (error) {
        resume()
        return refuse(error as Error)
      }
      // The client may have disconnected in the same tick.
      if (gone.signal.aborted) return memory.release()
      startedAt += performance.now() - waitsFrom
      pace = setInterval(checkPace, bodyGraceMs / checksPerGrace)
      take(piece)
      resume()
    }
    const complete = () => {
      stop()
      resolve(received.all())
    }
    const breakOff = () => refuse(new ApiError('body_incomplete', 'body: ended before it was complete'))
    const checkPace = () => {
      const sinceMs = performance.now() - startedAt
      if (sinceMs < bodyGraceMs || received.length >= (bodyBytesPerSecond * sinceMs) / 1000) return
      refuse(tooSlow(bodyBytesPerSecond))
    }
    let pace = setInterval(checkPace, bodyGraceMs / checksPerGrace)
    incoming.on('data', take).on('end', complete).on('close', breakOff).on('error', breakOff)
    if (incoming.destroyed) breakOff()
  })
}

/** Stops reading the body, so that the client has to wait. @returns a function that resumes it. */
function pauseReading(incoming: IncomingMessage): () => void {
  incoming.pause()
  const resumeIdleTimeout = pauseIdleTimeout(incoming)
  return () => {
    resumeIdleTimeout()
    incoming.resume()
  }
}

/** Connections whose idle timeout is paused, for how many of their requests, and its length. */
const paused = new WeakMap<Socket, { requests: number; idleMs: number }>()

/** Pauses a connection's idle timeout while the service itself makes it wait. @returns a function that resumes it. */
export function pauseIdleTimeout({ socket }: IncomingMessage): () => void {
  const pause = paused.get(socket) ?? { requests: 0, idleMs: socket.timeout ?? 0 }
  paused.set(socket, pause)
  pause.requests++
  socket.setTimeout(0)
  return () => {
    if (--pause.requests > 0) return
    paused.delete(socket)
    socket.setTimeout(pause.idleMs)
  }
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError('body_too_large', `body: more than ${maxBytes} bytes`)
}

export const tooSlow = (bytesPerSecond: number) =>
  new ApiError('body_incomplete', `body: came slower than ${bytesPerSecond} bytes a second`)
