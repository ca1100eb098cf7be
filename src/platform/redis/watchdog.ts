import type { Redis } from 'ioredis'

/** A connection without an answer for this long counts as dead, although neither end has closed it. */
export const unansweredForMs = 2000
const checkEveryMs = 250
const pingEveryMs = 1000
/** Less than the second after which BullMQ gives up its blocking connection by itself, without an event. */
const graceMs = 750

interface Watch {
  /** How long a blocking command of this connection may wait for work. A connection that has one isn't pinged. */
  waitsForMs?: number | undefined
  onReplaced(): void
}

/**
 * Replaces a connection on which Redis has stopped answering: a firewall dropped it, or Redis moved or hangs. TCP alone would
 * notice after a quarter of an hour, and each command would wait until then.
 *
 * Destroys the socket of an established connection, as a reset would, and leaves reconnecting to the client. `disconnect()`
 * would stop a Sentinel client for good if it came during a Sentinel query; destroying the socket also works for each node
 * of a Cluster.
 */
export function watchConnection(redis: Redis, { waitsForMs, onReplaced }: Watch): void {
  const maxUnanswered = (waitsForMs === undefined ? unansweredForMs : waitsForMs + graceMs) / checkEveryMs
  redis.on('connect', () => {
    const { stream } = redis
    const isStuck = () => redis.stream === stream && redis.status === 'connect'
    const hangUp = () =>
      isStuck() && stream.destroy(new Error('Redis accepts connections, but does not answer'))
    setTimeout(hangUp, unansweredForMs).unref()
  })
  redis.on('ready', () => {
    const { stream } = redis
    let repliedAt = Number.NEGATIVE_INFINITY
    let { bytesRead } = stream
    // Counts checks instead of time: after a blocked event loop, data that arrived is read before the next check.
    let unanswered = 0
    const check = () => {
      if (redis.stream !== stream || redis.status !== 'ready') return
      const isAnswered = redis.commandQueue.length === 0
      const hasReply = stream.bytesRead !== bytesRead
      bytesRead = stream.bytesRead
      unanswered = isAnswered || hasReply ? 0 : unanswered + 1
      if (unanswered >= maxUnanswered) {
        onReplaced()
        stream.destroy()
        return
      }
      // Any reply is as good as that to a PING.
      if (hasReply) repliedAt = performance.now()
      if (waitsForMs === undefined && isAnswered && performance.now() - repliedAt >= pingEveryMs) {
        repliedAt = performance.now()
        redis.ping().catch(() => {})
      }
    }
    const checking = setInterval(check, checkEveryMs).unref()
    stream.once('close', () => clearInterval(checking))
  })
}
