/** Thrown when PostgreSQL or Redis did not answer before the deadline. */
export class DeadlinePassed extends Error {
  constructor(waitedFor: string) {
    super(`${waitedFor} did not answer in time`)
  }
}

/** How late a wait may end. Node.js keeps the timers of each length in a list of their own: few lists cost less. */
const stepMs = 10

/**
 * How long one request, or one piece of work, may wait for PostgreSQL and Redis, summed over all its calls. Time between
 * the calls, such as a client's slow upload, doesn't count.
 */
export class Deadline {
  readonly #waitsFor: string
  #leftMs: number

  constructor(totalMs: number, waitsFor = 'PostgreSQL or Redis') {
    this.#leftMs = totalMs
    this.#waitsFor = waitsFor
  }

  get leftMs(): number {
    return this.#leftMs
  }

  /** @throws DeadlinePassed when the remaining time is used up; the work itself is not stopped. */
  spend<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const startedAt = performance.now()
      let isOver = false
      const end = () => {
        if (isOver) return
        isOver = true
        clearTimeout(timer)
        this.#leftMs -= performance.now() - startedAt
      }
      const giveUp = () => {
        end()
        reject(new DeadlinePassed(this.#waitsFor))
      }
      // Where this process stood still, the answer may have come meanwhile: it is read before an immediate runs.
      const timer = setTimeout(() => setImmediate(giveUp), Math.ceil(this.#leftMs / stepMs) * stepMs)
      work.then(
        (result) => {
          end()
          resolve(result)
        },
        (error: unknown) => {
          end()
          reject(error)
        },
      )
    })
  }
}
