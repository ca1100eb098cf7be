/** An endpoint that has answered lately; one that hasn't, as a new one; one whose last call failed. */
export type EndpointKind = 'answering' | 'silent' | 'failing'

/** Of the slots of silent endpoints. */
const shareOfFailing = 0.75

/**
 * The calls that a worker makes at a time. Those to silent and failing endpoints, which may each take as long as a call may take,
 * have at most half of them, and never wait: their endpoints are put off, so that another worker may call them. One slot is theirs
 * alone: otherwise an endpoint that has failed once would not be called again for as long as the others are busy. Failing ones
 * leave a part of the half free: otherwise a new endpoint's first call would wait for their time-outs.
 *
 * An answering endpoint waits for a slot, but not for long: another worker may have a free one, and what was read of the endpoint,
 * such as its secret, gets out of date.
 */
export class CallSlots {
  readonly #most: Record<'all' | 'answering' | 'notAnswering' | 'failing', number>
  readonly #used: Record<EndpointKind, number> = { answering: 0, silent: 0, failing: 0 }
  /** In their order. */
  readonly #waiting = new Set<() => void>()
  readonly #longestWaitMs: number

  constructor(most: number, longestWaitMs: number) {
    this.#longestWaitMs = longestWaitMs
    const notAnswering = Math.floor(most / 2)
    const failing = Math.max(1, Math.floor(notAnswering * shareOfFailing))
    this.#most = { all: most, answering: most - 1, notAnswering, failing }
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
    else if (kind !== 'answering' || !(await this.#isPassedOn())) return undefined
    return this.#once(kind)
  }

  /** Waits for a slot. */
  #isPassedOn(): Promise<boolean> {
    return new Promise((resolve) => {
      const take = () => {
        clearTimeout(timer)
        resolve(true)
      }
      const giveUp = () => {
        this.#waiting.delete(take)
        resolve(false)
      }
      const timer = setTimeout(giveUp, this.#longestWaitMs)
      this.#waiting.add(take)
    })
  }

  #isFree(kind: EndpointKind): boolean {
    if (this.inUse >= this.#most.all) return false
    if (kind === 'answering') return this.#used.answering < this.#most.answering
    if (kind === 'failing' && this.#used.failing >= this.#most.failing) return false
    return this.#notAnswering < this.#most.notAnswering
  }

  #once(kind: EndpointKind): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#used[kind]--
      const [first] = this.#waiting
      if (!first || !this.#isFree('answering')) return
      this.#used.answering++
      this.#waiting.delete(first)
      first()
    }
  }
}
