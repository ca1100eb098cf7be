import type { WorkerTimes } from '../worker-times.ts'

/** An endpoint that has answered lately; one that hasn't, as a new one; one whose last call failed. */
export type EndpointKind = 'answering' | NotAnsweringKind
export type NotAnsweringKind = 'silent' | 'failing'

/** For a call. */
export interface Slot {
  /** Of the endpoint that it is for. */
  kind: EndpointKind
  /** Gives it back; a second time, this does nothing. */
  free(): void
}

/** Of the slots of those that don't answer. */
const shareOfEach = 0.75

/**
 * The calls that a worker makes at a time. Those to silent and failing endpoints, which may each take as long as a call may take,
 * have at most half of them. One slot is theirs alone: otherwise an endpoint that has failed once would not be called again for as
 * long as the others are busy. Each of these two kinds leaves a part of the half to the other one: otherwise a new endpoint's first
 * call, or one that failed once, would wait for the time-outs of the others. If the half is one slot, both kinds share it.
 *
 * An answering endpoint waits for a slot, but not for long: another worker may have a free one, and what was read of the endpoint,
 * such as its secret, gets out of date. One that doesn't answer is left to other workers at once (`LeftEndpoints`).
 */
export class CallSlots {
  /** Is called when a slot becomes free that no answering endpoint waits for. */
  onFree = () => {}
  readonly #most: Record<'all' | EndpointKind | 'notAnswering', number>
  readonly #used: Record<EndpointKind, number> = { answering: 0, silent: 0, failing: 0 }
  /** Answering ones, in their order. */
  readonly #waiting = new Set<(slot: Slot) => void>()
  readonly #longestWaitMs: number

  constructor(most: number, { endpointClaimMs }: Pick<WorkerTimes, 'endpointClaimMs'>) {
    this.#longestWaitMs = endpointClaimMs
    const notAnswering = Math.floor(most / 2)
    const ofEach = Math.max(1, Math.floor(notAnswering * shareOfEach))
    this.#most = { all: most, answering: most - 1, notAnswering, silent: ofEach, failing: ofEach }
  }

  get inUse(): number {
    return this.#used.answering + this.#notAnswering
  }

  /** Whether there is one for an endpoint that doesn't answer. */
  get areFree(): boolean {
    return this.#isFree('silent') || this.#isFree('failing')
  }

  get #notAnswering(): number {
    return this.#used.silent + this.#used.failing
  }

  /**
   * @param kept a slot that the endpoint has already. It is given back if it is for another kind.
   * @returns undefined if the endpoint gets none.
   */
  async acquire(kind: EndpointKind, kept?: Slot): Promise<Slot | undefined> {
    if (kept?.kind === kind) return kept
    kept?.free()
    return this.take(kind) ?? (kind === 'answering' ? await this.#passedOn() : undefined)
  }

  /** @returns undefined if none is free. */
  take(kind: EndpointKind): Slot | undefined {
    if (!this.#isFree(kind)) return undefined
    this.#used[kind]++
    let isHeld = true
    const free = () => {
      if (!isHeld) return
      isHeld = false
      this.#used[kind]--
      if (!this.#isPassedOn()) this.onFree()
    }
    return { kind, free }
  }

  /** Waits for a slot. */
  #passedOn(): Promise<Slot | undefined> {
    return new Promise((resolve) => {
      const end = (slot?: Slot) => {
        clearTimeout(timer)
        this.#waiting.delete(end)
        resolve(slot)
      }
      const timer = setTimeout(end, this.#longestWaitMs)
      this.#waiting.add(end)
    })
  }

  #isPassedOn(): boolean {
    const [first] = this.#waiting
    const slot = first && this.take('answering')
    if (slot) first(slot)
    return slot !== undefined
  }

  #isFree(kind: EndpointKind): boolean {
    if (this.inUse >= this.#most.all || this.#used[kind] >= this.#most[kind]) return false
    return kind === 'answering' || this.#notAnswering < this.#most.notAnswering
  }
}
