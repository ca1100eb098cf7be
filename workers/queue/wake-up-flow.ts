import type { Metrics } from '../../src/platform/metrics.ts'
import { ofSend } from '../../src/platform/redis/shard.ts'

/** Longer than it takes until other workers get the wake-ups of a killed one. */
export const defaultStalledAfterSeconds = 20

/** Wake-ups that the worker has seen of one shard. */
interface Flow {
  name: string
  inFlight: number
  workedAt: number
  dueSince: number | undefined
  /** Whether this search has found sends of the shard. */
  isDue: boolean
}

/**
 * Checks whether wake-ups reach this worker. If sends of a shard stay due while the worker processes none of it and gets no
 * wake-up, the way from PostgreSQL to the queue is broken, even if both report that they are well.
 */
export class WakeUpFlow {
  readonly #metrics: Pick<Metrics, 'inFlight' | 'wakeUpsStalled'>
  readonly #stalledAfterSeconds: number
  readonly #flows: Flow[]
  #inFlight = 0

  /** @param stalledAfterSeconds after this long without a wake-up although sends are due, the worker counts as not ready. */
  constructor(
    metrics: Pick<Metrics, 'inFlight' | 'wakeUpsStalled'>,
    shards: readonly { name: string }[],
    stalledAfterSeconds = defaultStalledAfterSeconds,
  ) {
    this.#metrics = metrics
    this.#stalledAfterSeconds = stalledAfterSeconds
    const workedAt = performance.now()
    this.#flows = shards.map(({ name }) => ({
      name,
      inFlight: 0,
      workedAt,
      dueSince: undefined,
      isDue: false,
    }))
  }

  /** The worker begins to process the send. */
  began(requestId: string): void {
    this.#count(requestId, 1)
  }

  /** The worker has processed the send. */
  ended(requestId: string): void {
    this.#count(requestId, -1)
  }

  /** The search for overdue sends begins. */
  beginSearch(): void {
    for (const flow of this.#flows) flow.isDue = false
  }

  /** The search has found some that could go. */
  foundDue(requestIds: readonly string[]): void {
    for (const requestId of requestIds) markDue(ofSend(this.#flows, requestId))
    this.#show()
  }

  /** The same, of any shard. */
  foundSomeDue(): void {
    for (const flow of this.#flows) markDue(flow)
    this.#show()
  }

  /** The search has ended: shards of which it found none are well. */
  endSearch(): void {
    for (const flow of this.#flows) if (!flow.isDue) flow.dueSince = undefined
    this.#show()
  }

  /** Why the worker counts as not ready; undefined if wake-ups reach it. */
  reasonNotReady(): string | undefined {
    const { name, seconds } = this.#longestStalled()
    if (seconds < this.#stalledAfterSeconds) return undefined
    const which = this.#flows.length === 1 ? 'Sends' : `Sends of shard ${name}`
    return `${which} are due, but no wake-up has come for ${Math.floor(seconds)} s.`
  }

  #count(requestId: string, change: 1 | -1): void {
    const flow = ofSend(this.#flows, requestId)
    flow.inFlight += change
    flow.workedAt = performance.now()
    this.#inFlight += change
    this.#metrics.inFlight.set(this.#inFlight)
    this.#show()
  }

  #longestStalled(): { name: string; seconds: number } {
    let longest = { name: '', seconds: 0 }
    for (const { name, inFlight, workedAt, dueSince } of this.#flows) {
      if (inFlight > 0 || dueSince === undefined) continue
      const seconds = (performance.now() - Math.max(workedAt, dueSince)) / 1000
      if (seconds > longest.seconds) longest = { name, seconds }
    }
    return longest
  }

  #show(): void {
    this.#metrics.wakeUpsStalled.set(this.#longestStalled().seconds)
  }
}

function markDue(flow: Flow): void {
  flow.isDue = true
  flow.dueSince ??= performance.now()
}
