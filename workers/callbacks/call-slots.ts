import type { WorkerTimes } from '../worker-times.ts'

/** An endpoint that has answered lately; one that hasn't, as a new one; one whose last call failed. */
export type EndpointKind = 'answering' | 'silent' | 'failing'
type WaitingKind = Exclude<EndpointKind, 'failing'>

/** Of the slots of those that don't answer. */
const shareOfEach = 0.75

/**
 * The calls that a worker makes at a time. Those to silent and failing endpoints, which may each take as long as a call may take,
 * have at most half of them. One slot is theirs alone: otherwise an endpoint that has failed once would not be called again for as
 * long as the others are busy. Each of these two kinds leaves a part of the half to the other one: otherwise a new endpoint's first
 * call, or one that failed once, would wait for the time-outs of the others. If the half is one slot, both kinds share it.
 *
 * An endpoint waits for a slot, but not for long: another worker may have a free one, and what was read of the endpoint, such as
 * its secret, gets out of date. A silent one waits for as long as a few calls of others take, if those
 * answer. A failing one doesn't wait.
 */
export class CallSlots {
  readonly #most: Record<'all' | EndpointKind | 'notAnswering', number>
  readonly #used: Record<EndpointKind, number> = { answering: 0, silent: 0, failing: 0 }
  /** In their order. */
  readonly #waiting = new Set<{ kind: EndpointKind; take: () => void }>()
  readonly #longestWaitMs: Record<WaitingKind, number>

  constructor(most: number, times: Pick<WorkerTimes, 'endpointClaimMs' | 'silentWaitMs'>) {
    this.#longestWaitMs = { answering: times.endpointClaimMs, silent: times.silentWaitMs }
    const notAnswering = Math.floor(most / 2)
    const ofEach = Math.max(1, Math.floor(notAnswering * shareOfEach))
    this.#most = { all: most, answering: most - 1, notAnswering, silent: ofEach, failing: ofEach }
  }

  get inUse(): number {
    return this.#used.answering + this.#notAnswering
  }

  get #notAnswering(): number {
    return this.#used.silent + this.#used.failing
  }

  /** @returns a function that gives the slot back; undefined if the endpoint gets none. */
  async acquire(kind: EndpointKind): Promise<(() => void) | undefined> {
    if (this.#isFree(kind)) this.#used[kind]++
    // The slot is counted by the one who gives it back.
    else if (kind === 'failing' || !(await this.#isPassedOn(kind))) return undefined
    return this.#once(kind)
  }

  /** Waits for a slot. */
  #isPassedOn(kind: WaitingKind): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (isPassedOn: boolean) => {
        clearTimeout(timer)
        this.#waiting.delete(waiter)
        resolve(isPassedOn)
      }
      const timer = setTimeout(end, this.#longestWaitMs[kind], false)
      const waiter = { kind, take: () => end(true) }
      this.#waiting.add(waiter)
    })
  }

  #passOn(): void {
    for (const { kind, take } of this.#waiting) {
      if (!this.#isFree(kind)) continue
      this.#used[kind]++
      take()
      return
    }
  }

  #isFree(kind: EndpointKind): boolean {
    if (this.inUse >= this.#most.all || this.#used[kind] >= this.#most[kind]) return false
    return kind === 'answering' || this.#notAnswering < this.#most.notAnswering
  }

  #once(kind: EndpointKind): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#used[kind]--
      this.#passOn()
    }
  }
}
