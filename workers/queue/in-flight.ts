import type { WakeUpFlow } from './wake-up-flow.ts'

/** The sends that this worker is processing: from before their claim until their outcome is recorded. */
export class InFlight {
  #endedCount = 0
  readonly #work = new Map<Promise<unknown>, string>()
  readonly #flow: Pick<WakeUpFlow, 'began' | 'ended'> | undefined

  constructor(flow?: Pick<WakeUpFlow, 'began' | 'ended'>) {
    this.#flow = flow
  }

  /** Counts the send as in flight until the work ends. */
  async track<Result>(requestId: string, work: Promise<Result>): Promise<Result> {
    this.#work.set(work, requestId)
    this.#flow?.began(requestId)
    try {
      return await work
    } finally {
      this.#work.delete(work)
      this.#endedCount++
      this.#flow?.ended(requestId)
    }
  }

  /** How many have ended so far. */
  get endedCount(): number {
    return this.#endedCount
  }

  requestIds(): string[] {
    return [...this.#work.values()]
  }

  /** Resolves when none is in flight. */
  async ended(): Promise<void> {
    while (this.#work.size > 0) await Promise.allSettled(this.#work.keys())
  }
}
