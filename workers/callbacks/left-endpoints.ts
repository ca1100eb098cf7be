import { longestPutOffMs } from '../../src/core/callback-job.ts'
import type { Advanced } from '../call-back.ts'
import type { WorkerTimes } from '../worker-times.ts'

type Reason = Exclude<Advanced, 'done'> | 'fault'

/**
 * So many of those without a slot come again in a second, until there are so many that each is put off for the longest time. A
 * silent one may answer at once, so it comes sooner; if it doesn't answer, it counts as failing from then on.
 */
const perSecond: Partial<Record<Reason, number>> = { no_slot_silent: 32, no_slot_failing: 8 }

/** The endpoints that a worker has just left to other workers. */
export class LeftEndpoints {
  readonly #times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>
  readonly #left = new Map<string, { reason: Reason; timer: NodeJS.Timeout }>()
  readonly #counts = new Map<Reason, number>()

  constructor(times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>) {
    this.#times = times
  }

  has(endpointId: string): boolean {
    return this.#left.has(endpointId)
  }

  /** @returns for how many ms the endpoint is left. */
  leave(endpointId: string, reason: Reason): number {
    this.forget(endpointId)
    this.#count(reason, 1)
    const forMs = this.#msOf(reason)
    const timer = setTimeout(() => this.forget(endpointId), forMs).unref()
    this.#left.set(endpointId, { reason, timer })
    return forMs
  }

  /** It isn't left any longer. */
  forget(endpointId: string): void {
    const left = this.#left.get(endpointId)
    if (!left) return
    clearTimeout(left.timer)
    this.#count(left.reason, -1)
    this.#left.delete(endpointId)
  }

  #msOf(reason: Reason): number {
    const { afterFaultMs, putOffMs } = this.#times
    if (reason === 'fault') return afterFaultMs
    const rate = perSecond[reason]
    if (rate === undefined) return putOffMs
    return Math.max(putOffMs, Math.min(longestPutOffMs, (this.#countOf(reason) * 1000) / rate))
  }

  #countOf(reason: Reason): number {
    return this.#counts.get(reason) ?? 0
  }

  #count(reason: Reason, change: 1 | -1): void {
    this.#counts.set(reason, this.#countOf(reason) + change)
  }
}
