/** An endpoint that has answered lately, or one that hasn't. */
export type EndpointKind = 'answering' | 'silent'

/**
 * The calls that a worker makes at a time. Those to silent endpoints, which may each take as long as a call may take, have at most half
 * of them, and never wait: their endpoints are put off, so that another worker may call them.
 */
export class CallSlots {
  readonly #most: number
  readonly #mostSilent: number
  readonly #waiting: (() => void)[] = []
  #inUse = 0
  #silent = 0

  constructor(most: number) {
    this.#most = most
    this.#mostSilent = Math.floor(most / 2)
  }

  get inUse(): number {
    return this.#inUse
  }

  /** @returns a function that gives the slot back; undefined if a silent endpoint gets none. */
  async acquire(kind: EndpointKind): Promise<(() => void) | undefined> {
    if (kind === 'silent') {
      if (this.#silent >= this.#mostSilent || this.#inUse >= this.#most) return undefined
      this.#silent++
    } else if (this.#inUse >= this.#most) {
      // The slot is handed over, so it stays counted.
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
      return this.#once(kind)
    }
    this.#inUse++
    return this.#once(kind)
  }

  #once(kind: EndpointKind): () => void {
    let isHeld = true
    return () => {
      if (!isHeld) return
      isHeld = false
      if (kind === 'silent') this.#silent--
      const next = this.#waiting.shift()
      if (next) next()
      else this.#inUse--
    }
  }
}
