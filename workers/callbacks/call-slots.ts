/** An endpoint that has answered lately, or one that hasn't. */
export type EndpointKind = 'answering' | 'silent'

/**
 * The calls that a worker makes at a time. Those to silent endpoints, which may each take as long as a call may take, have at most half
 * of them, and never wait: their endpoints are put off, so that another worker may call them. One slot is theirs alone: otherwise an
 * endpoint that has failed once would not be called again for as long as the others are busy.
 */
export class CallSlots {
  readonly #most: Record<EndpointKind | 'all', number>
  readonly #used: Record<EndpointKind, number> = { answering: 0, silent: 0 }
  readonly #waiting: (() => void)[] = []

  constructor(most: number) {
    this.#most = { all: most, answering: most - 1, silent: Math.floor(most / 2) }
  }

  get inUse(): number {
    return this.#used.answering + this.#used.silent
  }

  /** @returns a function that gives the slot back; undefined if a silent endpoint gets none. */
  async acquire(kind: EndpointKind): Promise<(() => void) | undefined> {
    if (this.#isFree(kind)) this.#used[kind]++
    else if (kind === 'silent') return undefined
    // The slot is counted by the one who gives it back.
    else await new Promise<void>((resolve) => this.#waiting.push(resolve))
    return this.#once(kind)
  }

  #isFree(kind: EndpointKind): boolean {
    return this.inUse < this.#most.all && this.#used[kind] < this.#most[kind]
  }

  #once(kind: EndpointKind): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      this.#used[kind]--
      if (this.#waiting.length === 0 || !this.#isFree('answering')) return
      this.#used.answering++
      this.#waiting.shift()?.()
    }
  }
}
