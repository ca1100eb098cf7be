import type { Metrics } from '../../src/platform/metrics.ts'

/** Longer than it takes until the wake-ups of a worker that was killed go to others. */
const usuallyStalledAfterSeconds = 20

/**
 * Whether wake-ups reach this worker. Where sends stay due, it is at work on none, and none comes, something between
 * PostgreSQL, which knows of them, and the queue is broken, whatever each of them says of itself.
 */
export class WakeUpFlow {
  readonly #metrics: Pick<Metrics, 'inFlight' | 'wakeUpsStalled'>
  readonly #stalledAfterSeconds: number
  #inFlight = 0
  #workedAt = performance.now()
  #dueSince: number | undefined

  /** @param stalledAfterSeconds without a wake-up, although sends are due, the worker counts as not ready. */
  constructor(
    metrics: Pick<Metrics, 'inFlight' | 'wakeUpsStalled'>,
    stalledAfterSeconds = usuallyStalledAfterSeconds,
  ) {
    this.#metrics = metrics
    this.#stalledAfterSeconds = stalledAfterSeconds
  }

  /** The worker is at work on so many sends now. */
  workingOn(sends: number): void {
    this.#inFlight = sends
    this.#workedAt = performance.now()
    this.#metrics.inFlight.set(sends)
    this.#show()
  }

  /** Whether the search for overdue sends has found some that could go. */
  searched(foundSome: boolean): void {
    if (!foundSome) this.#dueSince = undefined
    else this.#dueSince ??= performance.now()
    this.#show()
  }

  /** Why the worker counts as not ready; undefined where wake-ups flow. */
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
