import { longestPutOffMs } from '../../src/core/callback-job.ts'
import type { Advanced } from '../call-back.ts'
import type { WorkerTimes } from '../worker-times.ts'

/** However many endpoints don't answer, so many of those that are put off come again in a second. */
const putOffsPerSecond = 8

type Reason = Exclude<Advanced, 'done'> | 'fault'

/** The endpoints that a worker has just left to other workers, and doesn't call for a while. */
export class LeftEndpoints {
  readonly #times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>
  readonly #reasons = new Map<string, Reason>()
  #putOffCount = 0

  constructor(times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>) {
    this.#times = times
  }

  reasonOf(endpointId: string): Reason | undefined {
    return this.#reasons.get(endpointId)
  }

  /** @returns for how many ms the endpoint is left. */
  leave(endpointId: string, reason: Reason): number {
    const count = reason === 'put_off' ? 1 : 0
    this.#putOffCount += count
    const forMs = this.#msOf(reason)
    this.#reasons.set(endpointId, reason)
    const takeBack = () => {
      this.#putOffCount -= count
      this.#reasons.delete(endpointId)
    }
    setTimeout(takeBack, forMs).unref()
    return forMs
  }

  #msOf(reason: Reason): number {
    const { afterFaultMs, putOffMs } = this.#times
    if (reason === 'fault') return afterFaultMs
    if (reason !== 'put_off') return putOffMs
    return Math.max(putOffMs, Math.min(longestPutOffMs, (this.#putOffCount * 1000) / putOffsPerSecond))
  }
}
