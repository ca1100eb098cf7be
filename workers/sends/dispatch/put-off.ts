import { LRUCache } from 'lru-cache'
import { firstPutOffMs, longestPutOffMs } from '../../../src/core/sends/delivery-times.ts'
import type { AttemptOutcome } from '../../../src/core/sends/outcome.ts'

const watchedSends = 10_000

/**
 * Sends that go back to the queue because this worker has no means for them now: each time for twice as long, or up to half of
 * that sooner. Sends that were put off together would otherwise come back together, and leave the means unused until then.
 */
export class PutOffs {
  readonly #delays = new LRUCache<string, number>({ max: watchedSends })
  readonly #random: () => number

  constructor(random: () => number = Math.random) {
    this.#random = random
  }

  putOff(requestId: string, reason: string): AttemptOutcome {
    const delayMs = this.#delays.get(requestId) ?? firstPutOffMs
    this.#delays.set(requestId, Math.min(2 * delayMs, longestPutOffMs))
    return { outcome: 'not_called', reason, delayMs: Math.round(delayMs * (1 - this.#random() / 2)) }
  }

  /** The next time begins anew. */
  forget(requestId: string): void {
    this.#delays.delete(requestId)
  }
}
