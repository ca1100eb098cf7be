import { setTimeout as sleep } from 'node:timers/promises'
import { type Processor, Worker, type WorkerOptions } from 'bullmq'
import { longestWaitSeconds } from '../../src/platform/redis/redis.ts'

export const tryAgainAfterMs = 500
/** Wake-ups that are fetched and not yet processed. */
const maxAhead = 8

/** A private part of BullMQ's worker, whose version is pinned. */
interface Woken {
  mainLoopQueue: { add(wakeUp: Promise<void>): void } | null
}

export interface SteadyWorkerOptions extends WorkerOptions {
  concurrency: number
}

/**
 * BullMQ's worker, with four changes. It pauses after Redis refused to hand out a wake-up, as a read-only Redis does; BullMQ
 * would ask again at once, forever. Its blocking wait is short enough for the watchdog of its connection. And it fetches only a
 * few wake-ups ahead: BullMQ fetches up to its concurrency, one after the other, before it processes the first of them. And it
 * can be made to take no further ones for a while.
 */
export class SteadyWorker<Job, Result> extends Worker<Job, Result> {
  readonly #onHandedOut: () => void
  readonly #maxConcurrency: number
  #processing = 0
  #further = Number.POSITIVE_INFINITY

  /** @param onHandedOut called whenever Redis has executed the request for the next wake-up, which is a write. */
  constructor(
    name: string,
    process: Processor<Job, Result>,
    options: SteadyWorkerOptions,
    onHandedOut: () => void,
  ) {
    super(name, process, { ...options, concurrency: Math.min(options.concurrency, maxAhead) })
    this.#onHandedOut = onHandedOut
    this.#maxConcurrency = options.concurrency
  }

  /** BullMQ ends a wake-up and fetches the next one in the same command, unless more than its concurrency are under way. */
  override async processJob(
    ...args: Parameters<Worker<Job, Result>['processJob']>
  ): ReturnType<Worker<Job, Result>['processJob']> {
    this.#countProcessing(1)
    try {
      return await super.processJob(...args)
    } finally {
      this.#countProcessing(-1)
    }
  }

  /** Takes only so many further wake-ups, until the next call. */
  takeFurther(count: number): void {
    const hadNone = this.#further === 0
    this.#further = count
    this.#setConcurrency()
    // BullMQ waits for the end of a wake-up that it has, unless it is woken as by its `resume`.
    if (hadNone && count > 0) (this as unknown as Woken).mainLoopQueue?.add(Promise.resolve())
  }

  #countProcessing(change: 1 | -1): void {
    this.#processing += change
    this.#setConcurrency()
  }

  #setConcurrency(): void {
    // If none may follow, one less than it has: BullMQ then fetches no other with the end of one.
    const ahead = this.#further === 0 ? -1 : Math.min(this.#further, maxAhead)
    this.concurrency = Math.max(1, Math.min(this.#maxConcurrency, this.#processing + ahead))
  }

  protected override async moveToActive(token: string, name?: string) {
    try {
      const job = await super.moveToActive(token, name)
      this.#onHandedOut()
      return job
    } catch (error) {
      await sleep(tryAgainAfterMs)
      throw error
    }
  }

  protected override getBlockTimeout(blockUntil: number): number {
    return Math.min(super.getBlockTimeout(blockUntil), longestWaitSeconds)
  }
}
