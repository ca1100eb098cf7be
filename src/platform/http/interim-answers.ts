import { subscribe } from 'node:diagnostics_channel'
import type { Socket } from 'node:net'

/** The error code of a connection that ended because of a 101. */
export const protocolSwitched = 'PROTOCOL_SWITCHED'

const aStart = 'HTTP/1.1 100 '
const interim = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r\n]/
const switched = /^HTTP\/1\.[01] 101/
const endOfHead = /\r?\n\r?\n/
/** undici reads no longer one. */
const longestHeadBytes = 16 * 1024
const nothing = Buffer.alloc(0)

const noteRequest = new WeakMap<object, () => void>()
subscribe('undici:client:sendHeaders', (message) =>
  noteRequest.get((message as { socket: Socket }).socket)?.(),
)

/**
 * Drops interim answers (1xx; RFC 9110, 15.2) before undici reads them: at a 100, undici would end the connection, and the call's
 * result would be unknown. A 101 ends it, as no call asks for another protocol. Expects one call at a time on the socket.
 */
export function passOverInterimAnswers(socket: Socket): void {
  const push = socket.push.bind(socket)
  /** From the beginning of a request until its own answer begins. */
  let isAwaited = false
  /** The bytes of an interim answer that isn't complete. */
  let held: Buffer = nothing

  noteRequest.set(socket, () => {
    isAwaited = true
  })
  socket.push = (chunk: Buffer | null) => {
    if (!isAwaited) return push(chunk)
    const bytes = afterInterim(chunk ? Buffer.concat([held, chunk]) : held)
    if (switched.test(startOf(bytes))) {
      socket.destroy(Object.assign(new Error(protocolSwitched), { code: protocolSwitched }))
      return false
    }
    if (chunk && isIncomplete(bytes)) {
      held = bytes
      return true
    }
    isAwaited = false
    held = nothing
    if (chunk) return push(bytes)
    if (bytes.length > 0) push(bytes)
    return push(null)
  }
}

const startOf = (bytes: Buffer) => bytes.toString('latin1', 0, aStart.length)

/** The bytes after the interim answers that are complete. */
function afterInterim(bytes: Buffer): Buffer {
  let at = 0
  while (interim.test(bytes.toString('latin1', at, at + aStart.length))) {
    const end = endOfHead.exec(bytes.toString('latin1', at, at + longestHeadBytes))
    if (!end) break
    at += end.index + end[0].length
  }
  return bytes.subarray(at)
}

/** Whether it is the beginning of an interim answer, or of its first line. */
function isIncomplete(bytes: Buffer): boolean {
  const start = startOf(bytes)
  return bytes.length < longestHeadBytes && interim.test(start + aStart.slice(start.length))
}
