import { setTimeout as sleep } from 'node:timers/promises'
import { Worker, type WorkerOptions } from 'bullmq'
import type { SendJob } from '../src/core/send-job.ts'
import { longestWaitSeconds } from '../src/platform/redis.ts'
import type { NextWakeUp } from './sends/attempt.ts'

export const tryAgainAfterMs = 500

type Process = ConstructorParameters<typeof Worker<SendJob, NextWakeUp>>[1]

/**
 * BullMQ's worker, with two changes. It pauses after Redis refused to hand out a wake-up, as a read-only Redis does; BullMQ would
 * ask again at once, forever. And its blocking wait is short enough for the watchdog of its connection.
 */
export class SteadyWorker extends Worker<SendJob, NextWakeUp> {
  readonly #onHandedOut: () => void

  /** @param onHandedOut called whenever Redis has executed the request for the next wake-up, which is a write. */
  constructor(name: string, process: Process, options: WorkerOptions, onHandedOut: () => void) {
    super(name, process, options)
    this.#onHandedOut = onHandedOut
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
