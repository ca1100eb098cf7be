/** Thrown when the stores took longer than a request may wait for them. */
export class WaitBudgetSpent extends Error {
  constructor() {
    super('PostgreSQL or Redis did not answer in time')
  }
}

interface Wait {
  overAt: number
  refuse(): void
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
  spend<T>(work: Promise<T>): Promise<T> {
    const startedAt = performance.now()
    return new Promise<T>((resolve, reject) => {
      const end = () => {
        // Whether it ended here: what comes after its time is over, comes too late.
        if (!waits.delete(wait)) return
        this.#leftMs -= performance.now() - startedAt
      }
      const refuse = () => {
        end()
        reject(new WaitBudgetSpent())
      }
      const wait: Wait = { overAt: startedAt + this.#leftMs, refuse }
      begin(wait)
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
