import { longestPutOffMs } from '../../src/core/callback-job.ts'
import type { Advanced } from '../call-back.ts'
import type { WorkerTimes } from '../worker-times.ts'
import type { NotAnsweringKind } from './call-slots.ts'

type Reason = Exclude<Advanced, 'done' | 'under_way'> | 'fault'

/**
 * So many of a line come again in a second, perhaps at another worker, until the line is so long that each is put off for the longest
 * time. Alone, each costs this worker, Redis and PostgreSQL more than a millisecond; so those of a second come together.
 */
const perSecond = 8

/**
 * The endpoints that a worker has left to other workers for a while. Of those that don't answer, the ones without a slot stand in
 * line for one, each kind in a line of its own.
 */
export class LeftEndpoints {
  readonly #times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>
  /** In their order, with the time until which each is put off. */
  readonly #lines: Record<NotAnsweringKind, Map<string, number>> = { silent: new Map(), failing: new Map() }
  /** Of the others: the end of their time. */
  readonly #timers = new Map<string, NodeJS.Timeout>()
  /** The kind whose turn it is. */
  #next: NotAnsweringKind = 'silent'

  constructor(times: Pick<WorkerTimes, 'putOffMs' | 'afterFaultMs'>) {
    this.#times = times
  }

  has(endpointId: string): boolean {
    const { silent, failing } = this.#lines
    const untilMs = silent.get(endpointId) ?? failing.get(endpointId) ?? 0
    return this.#timers.has(endpointId) || performance.now() < untilMs
  }

  /**
   * The kinds and the endpoint of each that has been waiting longest for a slot. The two kinds take turns, as they may have to share
   * one slot.
   *
   * @param isCalled those that this worker is about to call keep their places.
   */
  first(isCalled: (endpointId: string) => boolean): { kind: NotAnsweringKind; endpointId: string }[] {
    const kinds = [this.#next, this.#next === 'silent' ? 'failing' : 'silent'] as const
    return kinds.flatMap((kind) => {
      for (const endpointId of this.#lines[kind].keys())
        if (!isCalled(endpointId)) return { kind, endpointId }
      return []
    })
  }

  /** It gets a slot. */
  take({ kind, endpointId }: { kind: NotAnsweringKind; endpointId: string }): void {
    this.forget(endpointId)
    this.#next = kind === 'silent' ? 'failing' : 'silent'
  }

  /**
   * One that comes again, and gets no slot again, keeps its place in line.
   *
   * @returns for how many ms the endpoint is left.
   */
  leave(endpointId: string, reason: Reason): number {
    const kind = lineOf[reason]
    const line = kind && this.#lines[kind]
    if (!line?.has(endpointId)) this.forget(endpointId)
    if (line) {
      // It counts itself.
      line.set(endpointId, 0)
      const forMs = this.#putOffMs(line.size)
      line.set(endpointId, performance.now() + forMs)
      return forMs
    }
    const forMs = reason === 'fault' ? this.#times.afterFaultMs : this.#times.putOffMs
    this.#timers.set(endpointId, setTimeout(() => this.forget(endpointId), forMs).unref())
    return forMs
  }

  /** It isn't left any longer. */
  forget(endpointId: string): void {
    clearTimeout(this.#timers.get(endpointId))
    this.#timers.delete(endpointId)
    this.#lines.silent.delete(endpointId)
    this.#lines.failing.delete(endpointId)
  }

  #putOffMs(length: number): number {
    const { putOffMs } = this.#times
    const dueAt = Date.now() + Math.min(longestPutOffMs, (length * 1000) / perSecond)
    return Math.max(putOffMs, dueAt - (dueAt % putOffMs) - Date.now())
  }
}

const lineOf: Partial<Record<Reason, NotAnsweringKind>> = {
  no_slot_silent: 'silent',
  no_slot_failing: 'failing',
}
