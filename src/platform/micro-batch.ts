import { setImmediate as endOfTick, setTimeout as sleep } from 'node:timers/promises'
import { outsideSpans } from './log/tracing.ts'

/** After this a flush counts as stuck. Waiting for several in a row would use up a request's deadline. */
const stuckAfterMs = 100
/** Flushes in flight while whole ones wait: while Redis works on one, this process prepares the next. */
const maxInFlight = 2

interface Waiting<Item, Result> {
  item: Item
  resolve: (result: Result) => void
  reject: (error: unknown) => void
}

export interface MicroBatchOptions<Item, Result> {
  /** Does the work for many items at once, and returns one result per item, in their order. */
  flush: (items: Item[]) => Promise<Result[]>
  maxItems: number
  /** Whether calls may start another flush while one is in flight: if that one is stuck, or `maxItems` wait. */
  mayOverlap?: boolean
  /** How long to gather items before each flush, where they aren't urgent. Default: until the end of the tick. */
  gatherMs?: number | (() => number | undefined)
  /** Whether one of the items may have made the flush fail. If so, each is tried alone, so that only that one fails. Default: never. */
  isItemsFault?: (error: unknown) => boolean
}

/**
 * Turns concurrent calls into few flushes, without a timer. A call that finds no flush in flight starts one, shared with
 * all calls of the same event-loop tick; calls during a flush gather for the next one. So a single call doesn't wait, and
 * many share one statement.
 */
export class MicroBatch<Item, Result> {
  readonly #options: MicroBatchOptions<Item, Result>
  #waiting: Waiting<Item, Result>[] = []
  /** Flushes in flight: more than one only with `mayOverlap`. */
  #flushing = 0
  #flushedAt = 0

  constructor(options: MicroBatchOptions<Item, Result>) {
    this.#options = options
  }

  add(item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject })
      if (this.#flushing === 0 || this.#isStuck() || this.#isWholeWaiting())
        void outsideSpans(() => this.#flushAll())
    })
  }

  #isStuck(): boolean {
    return this.#options.mayOverlap === true && performance.now() - this.#flushedAt > stuckAfterMs
  }

  /** Nothing more fits into the next flush, so there is nothing to wait for. */
  #isWholeWaiting(): boolean {
    const { mayOverlap, maxItems } = this.#options
    return mayOverlap === true && this.#waiting.length >= maxItems && this.#flushing < maxInFlight
  }

  async #flushAll(): Promise<void> {
    this.#flushing++
    while (this.#waiting.length > 0) {
      this.#flushedAt = performance.now()
      const { gatherMs } = this.#options
      const forMs = typeof gatherMs === 'function' ? gatherMs() : gatherMs
      await (forMs === undefined ? endOfTick() : sleep(forMs))
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
      if (batch.length > 1 && this.#options.isItemsFault?.(error)) {
        for (const one of batch) await this.#settle([one])
      } else {
        for (const { reject } of batch) reject(error)
      }
    }
  }
}
