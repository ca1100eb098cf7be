import { setImmediate as restOfTurn, setTimeout as sleep } from 'node:timers/promises'
import { outsideSpans } from './tracing.ts'

/** After which a flush counts as stuck: several, one after the other, would use up what a request may wait. */
const stuckAfterMs = 100

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export interface MicroBatchOptions<Item, Result> {
  /** Does the work for many items at once and answers with one result an item, in their order. */
  flush: (items: Item[]) => Promise<Result[]>
  maxItems: number
  /** Whether calls needn't wait for a flush that is stuck, say on a connection that hangs where others don't. */
  mayOverlap?: boolean
  /** For what isn't urgent: how long to gather before each flush. */
  gatherMs?: number
  /** Whether a failed flush may be due to one of its items; then each is tried alone, so that it fails alone. */
  isItemsFault: (error: unknown) => boolean
}

/**
 * Turns concurrent calls into few flushes without a timer: a call that finds no flush in flight starts one in this turn
 * of the event loop, with all that come in the same turn; calls that come while one is in flight gather for the next. So
 * a lone call waits for nothing, and a crowd shares one statement.
 */
export class MicroBatch<Item, Result> {
  readonly #options: MicroBatchOptions<Item, Result>
  #waiting: Waiting<Item, Result>[] = []
  /** More than one only where one is stuck. */
  #flushing = 0
  #flushedAt = 0

  constructor(options: MicroBatchOptions<Item, Result>) {
    this.#options = options
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#flushing === 0 || this.#isStuck()) void outsideSpans(() => this.#flushAll())
    })
  }

  #isStuck(): boolean {
    return this.#options.mayOverlap === true && performance.now() - this.#flushedAt > stuckAfterMs
  }

  async #flushAll(): Promise<void> {
    this.#flushing++
    while (this.#waiting.length > 0) {
      this.#flushedAt = performance.now()
      await (this.#options.gatherMs === undefined ? restOfTurn() : sleep(this.#options.gatherMs))
      const batch = this.#waiting.splice(0, this.#options.maxItems)
      if (batch.length > 0) await this.#settle(batch)
    }
    this.#flushing--
  }

  async #settle(batch: Waiting<Item, Result>[]): Promise<void> {
    try {
      const results = await this.#options.flush(batch.map(({ item }) => item))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] as Result)
    } catch (error) {
      if (batch.length > 1 && this.#options.isItemsFault(error)) {
        for (const one of batch) await this.#settle([one])
      } else {
        for (const { reject } of batch) reject(error)
      }
    }
  }
}
