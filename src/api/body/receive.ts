import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { ClientTimeouts } from '../client-timeouts.ts'
import { ApiError } from '../errors.ts'
import { type Place, smallBytes } from './large-bodies.ts'
import { Pieces } from './pieces.ts'

const looksPerGrace = 10

/**
 * The body as it came, in pieces. Once it turns out to be large it waits for its place: a client that declares much and
 * sends little takes no place.
 *
 * @throws ApiError 400 as soon as it is more than `maxBytes`, too slow, or can't be completed; 503 where it gets no
 * place. The rest is dropped.
 */
export async function receive(
  incoming: IncomingMessage,
  maxBytes: number,
  timeouts: ClientTimeouts,
  place: Place,
): Promise<Buffer[]> {
  // Most bodies come with their head, and are there once that has been dealt with.
  await undefined
  if (isThere(incoming) && incoming.readableLength <= Math.min(smallBytes, maxBytes)) {
    const body: Buffer | null = incoming.read()
    // Node tells of the end only behind the body, and has the request done with once that is read, too.
    if (!incoming.complete) incoming.resume()
    return body ? [body] : []
  }
  return await receiveByPieces(incoming, maxBytes, timeouts, place)
}

function isThere({ complete, headers, readableLength }: IncomingMessage): boolean {
  return complete || Number(headers['content-length']) === readableLength
}

function receiveByPieces(
  incoming: IncomingMessage,
  maxBytes: number,
  timeouts: ClientTimeouts,
  place: Place,
): Promise<Buffer[]> {
  const { bodyGraceMs, bodyBytesPerSecond } = timeouts
  const declared = Number(incoming.headers['content-length'] ?? maxBytes)
  const left = new AbortController()
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
      left.abort(error)
      incoming.resume()
      received = new Pieces()
      reject(error)
    }
    const take = (piece: Buffer) => {
      if (received.length + piece.length > maxBytes) return refuse(tooLarge(maxBytes))
      if (received.length + piece.length > smallBytes && !isLarge) return void waitForPlace(piece)
      received.add(piece)
    }
    // A piece that crosses the line came live, not out of the buffer, so that its end can't have come before it is taken:
    // what Node buffers, a high-water mark and one read, is no more than a small body.
    const waitForPlace = async (piece: Buffer) => {
      isLarge = true
      clearInterval(pace)
      const waitsFrom = performance.now()
      const resume = holdBack(incoming)
      try {
        await place.take(declared, left.signal)
      } catch (error) {
        resume()
        return refuse(error as Error)
      }
      // Its client may have gone in the same moment.
      if (left.signal.aborted) return place.leave()
      startedAt += performance.now() - waitsFrom
      pace = setInterval(look, bodyGraceMs / looksPerGrace)
      take(piece)
      resume()
    }
    const complete = () => {
      stop()
      resolve(received.all())
    }
    const breakOff = () => refuse(new ApiError(400, 'body: ended before it was complete'))
    const look = () => {
      const sinceMs = performance.now() - startedAt
      if (sinceMs < bodyGraceMs || received.length >= (bodyBytesPerSecond * sinceMs) / 1000) return
      refuse(new ApiError(400, `body: came slower than ${bodyBytesPerSecond} bytes a second`))
    }
    let pace = setInterval(look, bodyGraceMs / looksPerGrace)
    incoming.on('data', take).on('end', complete).on('close', breakOff).on('error', breakOff)
    if (incoming.destroyed) breakOff()
  })
}

/** Reads no more of the body: its client has to wait. @returns how to go on. */
function holdBack(incoming: IncomingMessage): () => void {
  incoming.pause()
  const endExcuse = excuseSilence(incoming)
  return () => {
    endExcuse()
    incoming.resume()
  }
}

/** Connections on which nothing moves for our own sake: for how many of their requests, and how long they may be silent. */
const excused = new WeakMap<Socket, { requests: number; idleMs: number }>()

/** While nothing moves on a connection for our own sake. @returns how to end it. */
export function excuseSilence({ socket }: IncomingMessage): () => void {
  const excuse = excused.get(socket) ?? { requests: 0, idleMs: socket.timeout ?? 0 }
  excused.set(socket, excuse)
  excuse.requests++
  socket.setTimeout(0)
  return () => {
    if (--excuse.requests > 0) return
    excused.delete(socket)
    socket.setTimeout(excuse.idleMs)
  }
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError(400, `body: more than ${maxBytes} bytes`)
}
