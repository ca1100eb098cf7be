import type { Metrics } from '../../src/platform/metrics.ts'

/** Longer than it takes until other workers get the wake-ups of a killed one. */
export const defaultStalledAfterSeconds = 20

/**
 * Checks whether wake-ups reach this worker. If sends stay due while the worker is idle and gets no wake-up, the way from
 * PostgreSQL to the queue is broken, even if both report that they are well.
 */
export class WakeUpFlow {
  readonly #metrics: Pick<Metrics, 'inFlight' | 'wakeUpsStalled'>
  readonly #stalledAfterSeconds: number
  #inFlight = 0
  #workedAt = performance.now()
  #dueSince: number | undefined

  /** @param stalledAfterSeconds after this long without a wake-up although sends are due, the worker counts as not ready. */
  constructor(
    metrics: Pick<Metrics, 'inFlight' | 'wakeUpsStalled'>,
    stalledAfterSeconds = defaultStalledAfterSeconds,
  ) {
    this.#metrics = metrics
    this.#stalledAfterSeconds = stalledAfterSeconds
  }

  /** Sets the number of sends that the worker is processing. */
  workingOn(sends: number): void {
    this.#inFlight = sends
    this.#workedAt = performance.now()
    this.#metrics.inFlight.set(sends)
    this.#show()
  }

  /** Reports whether the search for overdue sends has found some that could go. */
  searched(foundSome: boolean): void {
    if (!foundSome) this.#dueSince = undefined
    else this.#dueSince ??= performance.now()
    this.#show()
  }

  /** Why the worker counts as not ready; undefined if wake-ups reach it. */
  reasonNotReady(): string | undefined {
    const seconds = this.#stalledSeconds()
    if (seconds < this.#stalledAfterSeconds) return undefined
    return `Sends are due, but no wake-up has come for ${Math.floor(seconds)} s.`
  }

  #stalledSeconds(): number {
    if (this.#inFlight > 0 || this.#dueSince === undefined) return 0
    return (performance.now() - Math.max(this.#workedAt, this.#dueSince)) / 1000
  }

  #show(): void {
    this.#metrics.wakeUpsStalled.set(this.#stalledSeconds())
  }
}
