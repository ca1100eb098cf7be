import { setTimeout as sleep } from 'node:timers/promises'
import { type Processor, Worker, type WorkerOptions } from 'bullmq'
import type { SendJob } from '../src/core/send-job.ts'
import { longestWaitSeconds } from '../src/platform/redis.ts'
import type { NextWakeUp } from './sends/send-states.ts'

export const tryAgainAfterMs = 500
/** Wake-ups that are fetched and not yet processed. */
const maxAhead = 8

type Base = Worker<SendJob, NextWakeUp>

export interface SteadyWorkerOptions extends WorkerOptions {
  concurrency: number
}

/**
 * BullMQ's worker, with three changes. It pauses after Redis refused to hand out a wake-up, as a read-only Redis does; BullMQ
 * would ask again at once, forever. Its blocking wait is short enough for the watchdog of its connection. And it fetches only a
 * few wake-ups ahead: BullMQ fetches up to its concurrency, one after the other, before it processes the first of them.
 */
export class SteadyWorker extends Worker<SendJob, NextWakeUp> {
  readonly #onHandedOut: () => void
  readonly #maxConcurrency: number
  #processing = 0

  /** @param onHandedOut called whenever Redis has executed the request for the next wake-up, which is a write. */
  constructor(
    name: string,
    process: Processor<SendJob, NextWakeUp>,
    options: SteadyWorkerOptions,
    onHandedOut: () => void,
  ) {
    super(name, process, { ...options, concurrency: Math.min(options.concurrency, maxAhead) })
    this.#onHandedOut = onHandedOut
    this.#maxConcurrency = options.concurrency
  }

  /** With the end of a wake-up BullMQ fetches the next one in the same command, unless more than its concurrency are under way. */
  override async processJob(...args: Parameters<Base['processJob']>): ReturnType<Base['processJob']> {
    this.#countProcessing(1)
    try {
      return await super.processJob(...args)
    } finally {
      this.#countProcessing(-1)
    }
  }

  #countProcessing(change: 1 | -1): void {
    this.#processing += change
    this.concurrency = Math.min(this.#maxConcurrency, this.#processing + maxAhead)
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
