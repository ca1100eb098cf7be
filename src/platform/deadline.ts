/** Thrown when PostgreSQL or Redis did not answer before the deadline. */
export class DeadlinePassed extends Error {
  constructor(waitedFor: string) {
    super(`${waitedFor} did not answer in time`)
  }
}

/** A class, because closures for its two methods would cost more than the rest of a wait. */
class Wait {
  readonly overAt: number
  readonly #startedAt = performance.now()
  readonly #deadline: Deadline
  readonly #reject: (error: Error) => void

  constructor(deadline: Deadline, reject: (error: Error) => void) {
    this.#deadline = deadline
    this.#reject = reject
    this.overAt = this.#startedAt + deadline.leftMs
  }

  end(): void {
    // Already ended: the result came after the deadline.
    if (!waits.delete(this)) return
    this.#deadline.use(performance.now() - this.#startedAt)
  }

  refuse(): void {
    this.end()
    this.#reject(new DeadlinePassed(this.#deadline.waitsFor))
  }
}

/** A wait may end this much late. One timer for all waits is far cheaper than one for each. */
const checkEveryMs = 10

const waits = new Set<Wait>()
let checking: NodeJS.Timeout | undefined

function begin(wait: Wait): void {
  waits.add(wait)
  checking ??= setInterval(check, checkEveryMs)
}

function check(): void {
  const now = performance.now()
  for (const wait of waits) {
    // If the event loop was blocked, the answer may have arrived meanwhile. It is read before an immediate runs.
    if (wait.overAt <= now) setImmediate(() => waits.has(wait) && wait.refuse())
  }
  if (waits.size > 0) return
  clearInterval(checking)
  checking = undefined
}

/**
 * How long one request, or one piece of work, may wait for PostgreSQL and Redis, summed over all its calls. Time between
 * the calls, such as a client's slow upload, doesn't count.
 */
export class Deadline {
  readonly waitsFor: string
  #leftMs: number

  constructor(totalMs: number, waitsFor = 'PostgreSQL or Redis') {
    this.#leftMs = totalMs
    this.waitsFor = waitsFor
  }

  get leftMs(): number {
    return this.#leftMs
  }

  use(ms: number): void {
    this.#leftMs -= ms
  }

  /** @throws DeadlinePassed when the remaining time is used up; the work itself is not stopped. */
  spend<T>(work: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const wait = new Wait(this, reject)
      begin(wait)
      work.then(
        (result) => {
          wait.end()
          resolve(result)
        },
        (error: unknown) => {
          wait.end()
          reject(error)
        },
      )
    })
  }
}
