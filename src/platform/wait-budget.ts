/** Thrown when the stores took longer than a request may wait for them. */
export class WaitBudgetSpent extends Error {
  constructor() {
    super('PostgreSQL or Redis did not answer in time')
  }
}

/**
 * How long one request may wait for PostgreSQL and Redis, all its calls together. Time that passes between the calls,
 * such as a client's slow upload, doesn't count.
 */
export class WaitBudget {
  #leftMs: number

  constructor(totalMs: number) {
    this.#leftMs = totalMs
  }

  get leftMs(): number {
    return this.#leftMs
  }

  /** @throws WaitBudgetSpent when nothing is left before the work is done; the work itself is not stopped. */
  async spend<T>(work: Promise<T>): Promise<T> {
    const startedAt = performance.now()
    let timer: NodeJS.Timeout | undefined
    const spent = new Promise<never>((_resolve, reject) => {
      // Where this process stood still, the answer may have come meanwhile: it is read before an immediate runs.
      const refuse = () => setImmediate(() => reject(new WaitBudgetSpent()))
      timer = setTimeout(refuse, Math.max(this.#leftMs, 0))
    })
    try {
      return await Promise.race([work, spent])
    } finally {
      clearTimeout(timer)
      this.#leftMs -= performance.now() - startedAt
    }
  }
}
