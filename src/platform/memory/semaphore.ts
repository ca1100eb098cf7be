/** Thrown when too few units became free in time. */
export class NotAcquired extends Error {}

interface Request {
  units: number
  owner: string
}

export type Release = (keptUnits?: number) => void

interface Waiter extends Request {
  acquire: () => void
  giveUp: (reason: unknown) => void
}

export interface SemaphoreOptions {
  units: number
  /** How many of them one owner may hold. A request for more is granted while its owner holds none. */
  unitsOfOwner: number
  /** Whether an owner that holds none gets the requested units even if all are taken. */
  alwaysGrantsFirst?: boolean
  /** The message of NotAcquired, for the log. */
  refusal?: string
}

/**
 * A counting semaphore, over bytes of a memory budget or over permits. If too few units are free, requests wait in a queue.
 * The owner that holds the fewest units is served first, equals in order of arrival; an owner that holds its full share
 * waits without delaying the others.
 */
export class Semaphore {
  readonly #options: SemaphoreOptions
  readonly #queue: Waiter[] = []
  readonly #heldBy = new Map<string, number>()
  #taken = 0

  constructor(options: SemaphoreOptions) {
    this.#options = options
  }

  get takenUnits(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#queue.length
  }

  /** Whether the owner holds its full share. */
  holdsShare(owner: string): boolean {
    return this.#held(owner) >= this.#options.unitsOfOwner
  }

  /**
   * @param within milliseconds.
   * @param signal aborted when the units are no longer needed.
   * @returns a function that releases the units, or all but some of them; calling it again does nothing.
   * @throws NotAcquired after `within`, or the signal's reason if the signal is aborted first.
   */
  async acquire(request: Request, within: number, signal?: AbortSignal): Promise<Release> {
    signal?.throwIfAborted()
    if (this.#queue.length === 0 && this.#isGrantable(request)) return this.#grant(request)
    return await new Promise((resolve, reject) => {
      const giveUp = (reason: unknown) => {
        if (this.#queue.includes(waiter)) this.#queue.splice(this.#queue.indexOf(waiter), 1)
        stopWaiting()
        reject(reason)
        // This waiter may have been blocking the others.
        this.#serveQueue()
      }
      const timer = setTimeout(() => giveUp(this.#refusal()), within)
      const abort = () => giveUp(signal?.reason)
      const stopWaiting = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const waiter: Waiter = {
        ...request,
        giveUp,
        acquire: () => {
          stopWaiting()
          resolve(this.#grant(request))
        },
      }
      signal?.addEventListener('abort', abort)
      this.#queue.push(waiter)
      this.#serveQueue()
    })
  }

  /** Fails all waiters with NotAcquired. */
  refuseWaiting(): void {
    for (const { giveUp } of this.#queue.splice(0)) giveUp(this.#refusal())
  }

  #refusal(): NotAcquired {
    return new NotAcquired(this.#options.refusal)
  }

  #grant({ units, owner }: Request): Release {
    this.#add(owner, units)
    let held = units
    return (kept = 0) => {
      if (kept >= held) return
      this.#add(owner, kept - held)
      held = kept
      this.#serveQueue()
    }
  }

  #add(owner: string, units: number): void {
    this.#taken += units
    const left = this.#held(owner) + units
    if (left > 0) this.#heldBy.set(owner, left)
    else this.#heldBy.delete(owner)
  }

  #serveQueue(): void {
    for (let next = this.#next(); next && this.#isGrantable(next); next = this.#next()) {
      this.#queue.splice(this.#queue.indexOf(next), 1)
      next.acquire()
    }
  }

  /** The waiter to serve next: of those within their owner's share, the one whose owner holds the fewest units. */
  #next(): Waiter | undefined {
    let next: Waiter | undefined
    for (const waiter of this.#queue) {
      if (!this.#isWithinShare(waiter)) continue
      if (!next || this.#held(waiter.owner) < this.#held(next.owner)) next = waiter
    }
    return next
  }

  #isGrantable(request: Request): boolean {
    const { units, alwaysGrantsFirst } = this.#options
    if (this.#taken === 0 || (alwaysGrantsFirst && this.#held(request.owner) === 0)) return true
    return this.#isWithinShare(request) && this.#taken + request.units <= units
  }

  #isWithinShare({ owner, units }: Request): boolean {
    const held = this.#held(owner)
    return held === 0 || held + units <= this.#options.unitsOfOwner
  }

  #held(owner: string): number {
    return this.#heldBy.get(owner) ?? 0
  }
}
