import { longestPutOffMs } from '../../src/core/callback-job.ts'
import type { Advanced } from '../call-back.ts'
import type { WorkerTimes } from '../worker-times.ts'
import { type EndpointKind, endpointKinds } from './call-slots.ts'

type Reason = Exclude<Advanced, 'done'> | 'fault'

/**
 * So many of a line come again in a second, perhaps at another worker, until the line is so long that each is put off for the longest
 * time. Alone, each costs this worker, Redis and PostgreSQL more than a millisecond; so those of a second come together.
 */
const perSecond = 8

/**
 * The endpoints that a worker has just left to other workers. Those for which it had no slot stand in line for one: those of each
 * kind in a line of their own.
 */
export class LeftEndpoints {
  readonly #times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>
  /** By kind; a set keeps the order. */
  readonly #lines: Record<EndpointKind, Set<string>> = {
    answering: new Set(),
    silent: new Set(),
    failing: new Set(),
  }
  /** Of the others: the end of their time. */
  readonly #timers = new Map<string, NodeJS.Timeout>()

  constructor(times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>) {
    this.#times = times
  }

  has(endpointId: string): boolean {
    return this.#timers.has(endpointId) || endpointKinds.some((kind) => this.#lines[kind].has(endpointId))
  }

  /** The endpoint that has been waiting longest for a slot of this kind. */
  first(kind: EndpointKind): string | undefined {
    return this.#lines[kind].values().next().value
  }

  /**
   * One that comes again, and gets no slot again, keeps its place in line.
   *
   * @returns for how many ms the endpoint is left.
   */
  leave(endpointId: string, reason: Reason): number {
    const kind = endpointKinds.find((one) => reason === `no_slot_${one}`)
    if (kind === undefined || !this.#lines[kind].has(endpointId)) this.forget(endpointId)
    if (kind !== undefined) {
      this.#lines[kind].add(endpointId)
      return this.#putOffMs(kind)
    }
    const forMs = reason === 'fault' ? this.#times.afterFaultMs : this.#times.putOffMs
    this.#timers.set(endpointId, setTimeout(() => this.forget(endpointId), forMs).unref())
    return forMs
  }

  /** It isn't left any longer. */
  forget(endpointId: string): void {
    clearTimeout(this.#timers.get(endpointId))
    this.#timers.delete(endpointId)
    for (const kind of endpointKinds) this.#lines[kind].delete(endpointId)
  }

  #putOffMs(kind: EndpointKind): number {
    const { putOffMs } = this.#times
    if (kind === 'answering') return putOffMs
    const dueAt = Date.now() + Math.min(longestPutOffMs, (this.#lines[kind].size * 1000) / perSecond)
    return Math.max(putOffMs, dueAt - (dueAt % putOffMs) - Date.now())
  }
}
