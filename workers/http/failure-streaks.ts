import { LRUCache } from 'lru-cache'
import { longestFailureGapMs } from '../../src/core/sends/delivery-times.ts'
import type { WorkerTimes } from '../worker-times.ts'

/** A circuit breaker opens after this many failed calls in a row, over at least `failingForMs`. */
export const failuresToOpen = 5
const watched = 10_000

interface Streak {
  failures: number
  /** Start of the first of these calls, on the clock of `performance.now()`. */
  since: number
}

/** Failed calls in a row that this worker has seen, of channels or of endpoints. */
export class FailureStreaks {
  readonly #streaks = new LRUCache<string, Streak>({ max: watched, ttl: longestFailureGapMs })
  readonly #failingForMs: number

  constructor({ failingForMs }: Pick<WorkerTimes, 'failingForMs'>) {
    this.#failingForMs = failingForMs
  }

  end(id: string): void {
    this.#streaks.delete(id)
  }

  /** Counts a failed call that took this long. @returns whether the breaker has to open. */
  countFailure(id: string, durationMs: number): boolean {
    const began = performance.now() - durationMs
    const { failures, since } = this.#streaks.get(id) ?? { failures: 0, since: began }
    const streak = { failures: failures + 1, since: Math.min(since, began) }
    this.#streaks.set(id, streak)
    return streak.failures >= failuresToOpen && performance.now() - streak.since >= this.#failingForMs
  }
}
