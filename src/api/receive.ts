import type { IncomingMessage } from 'node:http'
import { ApiError } from './errors.ts'
import type { Patience } from './patience.ts'

const looksPerGrace = 10

/**
 * The body as it came, in one buffer that grows with what has come: not with what was declared, and not by the piece,
 * of which a hostile client makes millions.
 *
 * @throws ApiError 400 as soon as it is more than `maxBytes`, too slow, or can't be completed. The rest is dropped.
 */
export function receive(incoming: IncomingMessage, maxBytes: number, patience: Patience): Promise<Buffer> {
  const { bodyGraceMs, bodyBytesPerSecond } = patience
  const startedAt = performance.now()
  let received: Buffer = Buffer.alloc(0)
  let length = 0

  return new Promise((resolve, reject) => {
    const stop = () => {
      clearInterval(pace)
      incoming.off('data', take).off('end', complete).off('close', breakOff).off('error', breakOff)
    }
    const refuse = (error: ApiError) => {
      stop()
      incoming.resume()
      received = Buffer.alloc(0)
      reject(error)
    }
    const take = (piece: Buffer) => {
      if (length + piece.length > maxBytes) return refuse(tooLarge(maxBytes))
      received = withRoomFor(length + piece.length, received, length, maxBytes)
      length += piece.copy(received, length)
    }
    const complete = () => {
      stop()
      resolve(received.subarray(0, length))
    }
    const breakOff = () => refuse(new ApiError(400, 'body: ended before it was complete'))
    const look = () => {
      const sinceMs = performance.now() - startedAt
      if (sinceMs < bodyGraceMs || length >= (bodyBytesPerSecond * sinceMs) / 1000) return
      refuse(new ApiError(400, `body: came slower than ${bodyBytesPerSecond} bytes a second`))
    }
    const pace = setInterval(look, bodyGraceMs / looksPerGrace)
    incoming.on('data', take).on('end', complete).on('close', breakOff).on('error', breakOff)
    if (incoming.destroyed) breakOff()
  })
}

function withRoomFor(length: number, bytes: Buffer, used: number, maxBytes: number): Buffer {
  if (length <= bytes.length) return bytes
  const larger = Buffer.allocUnsafe(Math.min(Math.max(length, 2 * bytes.length), maxBytes))
  bytes.copy(larger, 0, 0, used)
  return larger
}

export function tooLarge(maxBytes: number): ApiError {
  return new ApiError(400, `body: more than ${maxBytes} bytes`)
}
