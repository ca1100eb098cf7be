/** The sends that this worker is processing: from before their claim until their outcome is recorded. */
export class InFlight {
  readonly #work = new Map<Promise<unknown>, string>()
  readonly #flow: { workingOn(sends: number): void } | undefined

  /** @param flow is called with their number when it changes. */
  constructor(flow?: { workingOn(sends: number): void }) {
    this.#flow = flow
  }

  /** Counts the send as in flight until the work ends. */
  async track<Result>(requestId: string, work: Promise<Result>): Promise<Result> {
    this.#work.set(work, requestId)
    this.#flow?.workingOn(this.#work.size)
    try {
      return await work
    } finally {
      this.#work.delete(work)
      this.#flow?.workingOn(this.#work.size)
    }
  }

  requestIds(): string[] {
    return [...this.#work.values()]
  }

  /** Resolves when none is in flight. */
  async ended(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work.keys())
  }
}
