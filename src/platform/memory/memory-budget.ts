import { type Release, Semaphore } from './semaphore.ts'

/** The part of a memory budget that one piece of work uses; empty until `reserve`, which may be called several times. */
export interface Reservation {
  /**
   * @returns a function that gives back what this call reserved beyond so many bytes.
   * @throws NotAcquired if too little is free in time; the signal's reason if it is aborted first.
   */
  reserve(bytes: number, signal?: AbortSignal): Promise<(keptBytes: number) => void>
  /** Ends the work's use of the budget: a `reserve` that still waits is granted nothing. */
  release(): void
}

export interface MemoryBudgetOptions {
  bytes: number
  /** How long a piece of work waits for its part. */
  waitMs: number
  /** The message of a refusal. */
  refusal?: string
}

/**
 * Bounds the bytes that are in memory at the same time. An owner may use half of them: one account's large media doesn't keep
 * the others' out.
 */
export class MemoryBudget {
  readonly #semaphore: Semaphore
  readonly #waitMs: number

  constructor({ bytes, waitMs, ...rest }: MemoryBudgetOptions) {
    this.#semaphore = new Semaphore({ units: bytes, unitsOfOwner: bytes / 2, ...rest })
    this.#waitMs = waitMs
  }

  get usedBytes(): number {
    return this.#semaphore.takenUnits
  }

  reservationFor(owner: string): Reservation {
    let isOver = false
    const acquired: Release[] = []
    return {
      reserve: async (bytes, signal) => {
        const release = await this.#semaphore.acquire({ units: bytes, owner }, this.#waitMs, signal)
        if (isOver) release()
        else acquired.push(release)
        return release
      },
      release: () => {
        isOver = true
        for (const release of acquired) release()
      },
    }
  }

  /** Fails all that wait with NotAcquired. */
  refuseWaiting(): void {
    this.#semaphore.refuseWaiting()
  }
}
