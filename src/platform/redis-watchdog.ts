import type { Redis } from 'ioredis'

/** Without an answer for so long a connection counts as dead, although nobody has closed it. */
export const silentForMs = 2000
const lookEveryMs = 250
const pingEveryMs = 1000
/** Less than the second after which BullMQ would give its waiting connection up by itself, without a word. */
const graceMs = 750

interface Watch {
  /** How long Redis may leave a command of this connection unanswered, because it waits for work: such a one isn't pinged. */
  waitsForMs?: number | undefined
  onReplaced(): void
}

/**
 * Replaces a connection on which Redis has stopped answering: a firewall has forgotten it, or its Redis has moved or hangs.
 * TCP itself would notice after a quarter of an hour, and meanwhile each command would wait.
 *
 * Only an established connection is destroyed, as if it had been reset: the client then connects by its own rules. So it suits
 * a client that asks Sentinels, which `disconnect()` could stop for good while it asks, and each node of a Cluster.
 */
export function watchConnection(redis: Redis, { waitsForMs, onReplaced }: Watch): void {
  const mostSilentLooks = (waitsForMs === undefined ? silentForMs : waitsForMs + graceMs) / lookEveryMs
  redis.on('connect', () => {
    const { stream } = redis
    const isStuck = () => redis.stream === stream && redis.status === 'connect'
    const hangUp = () => isStuck() && stream.destroy(new Error('Redis takes connections, but says nothing'))
    setTimeout(hangUp, silentForMs).unref()
  })
  redis.on('ready', () => {
    const { stream } = redis
    let pingedAt = Number.NEGATIVE_INFINITY
    let { bytesRead } = stream
    // Looks, not time: a process that stood still reads what has come meanwhile before it looks a second time.
    let silentLooks = 0
    const look = () => {
      if (redis.stream !== stream || redis.status !== 'ready') return
      const isAnswered = redis.commandQueue.length === 0
      const isHeard = isAnswered || stream.bytesRead !== bytesRead
      bytesRead = stream.bytesRead
      silentLooks = isHeard ? 0 : silentLooks + 1
      if (silentLooks >= mostSilentLooks) {
        onReplaced()
        stream.destroy()
      } else if (isAnswered && waitsForMs === undefined && performance.now() - pingedAt >= pingEveryMs) {
        pingedAt = performance.now()
        redis.ping().catch(() => {})
      }
    }
    const looking = setInterval(look, lookEveryMs).unref()
    stream.once('close', () => clearInterval(looking))
  })
}
