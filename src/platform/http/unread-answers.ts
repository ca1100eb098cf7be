import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { socketsOf } from './exchanges.ts'

/** How fast clients have to read their answers (docs/reference/api.md#connections). */
export interface ReadingPace {
  /** For this long, an answer may be read at any pace. */
  graceMs: number
  /** The minimum average pace after `graceMs`. */
  bytesPerSecond: number
}

export const readingPace: ReadingPace = { graceMs: 10_000, bytesPerSecond: 32 * 1024 }
/** Limit of a process's answers that the operating system hasn't taken yet. */
export const maxUnreadBytes = 64 * 1024 * 1024
const checkEveryMs = 250

interface Unread {
  socket: Socket
  bytes: number
  /** Bytes that the connection had been given to send by then: more of them mean that another answer has begun. */
  given: number
  sinceMs: number
}

/**
 * Closes connections whose clients don't read their answers: too slow ones, and while too many bytes are unread, those that
 * have waited longest. Looks at the connections from time to time, so that an answer that is read costs nothing.
 */
export function closeUnread(server: Server, { graceMs, bytesPerSecond } = readingPace): void {
  let known = new Map<Socket, Unread>()
  const check = () => {
    const now = performance.now()
    const unread = new Map<Socket, Unread>()
    for (const socket of socketsOf(server)) {
      const bytes = socket.writableLength
      if (bytes === 0) continue
      const before = known.get(socket)
      const given = socket.bytesWritten
      unread.set(socket, before?.given === given ? before : { socket, bytes, given, sinceMs: now })
    }
    known = unread
    let total = 0
    for (const { bytes } of unread.values()) total += bytes
    const longestFirst = [...unread.values()].sort((one, other) => one.sinceMs - other.sinceMs)
    for (const { socket, bytes, sinceMs } of longestFirst) {
      const isTooSlow = now - sinceMs > graceMs + (bytes / bytesPerSecond) * 1000
      if (!isTooSlow && total <= maxUnreadBytes) continue
      socket.destroy()
      total -= bytes
    }
  }
  const checking = setInterval(check, checkEveryMs).unref()
  server.once('close', () => clearInterval(checking))
}
