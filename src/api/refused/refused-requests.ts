import { type KeyOfRefused, type RefusedRequest, recordRefused } from '../../../db/audit/refused.ts'
import { outsideSpans } from '../../platform/log/tracing.ts'
import type { Needs } from '../../runtime.ts'

const recordEveryMs = 1000
/** How many of one key, and in all, between two records: a flood of refused requests costs PostgreSQL no more. */
const mostOfKey = 50
const mostInAll = 500

/**
 * Gathers refused requests, and records them once a second for the page `/refused`. Nothing waits for that: what is too much, and
 * what PostgreSQL doesn't take, is left out and counted.
 */
export class RefusedRequests {
  readonly #runtime: Needs<'db' | 'metrics'>
  readonly #taken = new Map<string, number>()
  #takenInAll = 0
  #gathered: (RefusedRequest & KeyOfRefused)[] = []
  #isWaiting = false

  constructor(runtime: Needs<'db' | 'metrics'>) {
    this.#runtime = runtime
  }

  /** @param describe called later, off the answer's path, and only if the request is recorded. */
  add(key: KeyOfRefused, describe: () => RefusedRequest): void {
    const id = 'keyId' in key ? key.keyId : key.keyHash
    const ofKey = this.#taken.get(id) ?? 0
    if (ofKey >= mostOfKey || this.#takenInAll >= mostInAll) {
      this.#runtime.metrics.refusedUnrecorded.inc()
      return
    }
    this.#taken.set(id, ofKey + 1)
    this.#takenInAll++
    setImmediate(() => this.#gathered.push({ ...key, ...describe() }))
    if (!this.#isWaiting) this.#recordLater()
  }

  #recordLater(): void {
    this.#isWaiting = true
    const record = async () => {
      const gathered = this.#gathered
      this.#gathered = []
      this.#taken.clear()
      this.#takenInAll = 0
      await recordRefused(this.#runtime.db, gathered).catch(() =>
        this.#runtime.metrics.refusedUnrecorded.inc(gathered.length),
      )
      this.#isWaiting = false
      if (this.#takenInAll > 0) this.#recordLater()
    }
    outsideSpans(() => setTimeout(record, recordEveryMs).unref())
  }
}
