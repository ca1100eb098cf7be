/** Thrown when what was waited for took longer than it might. */
export class DeadlinePassed extends Error {
  constructor(waitedFor: string) {
    super(`${waitedFor} did not answer in time`)
  }
}

/** A class, since closures for its two methods would cost more than all the rest of a wait. */
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
    // Whether it ended here: what comes after its time is over, comes too late.
    if (!waits.delete(this)) return
    this.#deadline.use(performance.now() - this.#startedAt)
  }

  refuse(): void {
    this.end()
    this.#reject(new DeadlinePassed(this.#deadline.waitsFor))
  }
}

/** How late a wait may end. One timer for all of them is far cheaper than one for each. */
const lookEveryMs = 10

const waits = new Set<Wait>()
let looking: NodeJS.Timeout | undefined

function begin(wait: Wait): void {
  waits.add(wait)
  looking ??= setInterval(look, lookEveryMs)
}

function look(): void {
  const now = performance.now()
  for (const wait of waits) {
    // Where this process stood still, the answer may have come meanwhile: it is read before an immediate runs.
    if (wait.overAt <= now) setImmediate(() => waits.has(wait) && wait.refuse())
  }
  if (waits.size > 0) return
  clearInterval(looking)
  looking = undefined
}

/**
 * How long one request, or one piece of work, may wait for the stores, all its calls together. Time that passes between the
 * calls, such as a client's slow upload, doesn't count.
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

  /** @throws DeadlinePassed when nothing is left before the work is done; the work itself is not stopped. */
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
