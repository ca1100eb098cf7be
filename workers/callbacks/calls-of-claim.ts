import { setTimeout as sleep } from 'node:timers/promises'

/** Calls at a time of an endpoint that answers. */
export const callsAtATime = 4
/** So that a database that is slow, or away, doesn't let unrecorded calls pile up. */
const maxUnrecorded = 256
const carefulLimit = 4

/** A call ends, and is then recorded: the next one needn't wait for that. */
type Call = () => Promise<() => Promise<unknown>>

/** The calls of one claim of an endpoint. */
export class CallsOfClaim {
  /** Whether only one call is made at a time, as the endpoint hasn't answered lately. */
  isCareful = true
  /** Whether no further call may begin: a call has failed. */
  hasEnded = false
  readonly #unrecorded = new Map<string, Promise<unknown>>()
  readonly #faults: unknown[] = []
  #calling = 0
  #limit = carefulLimit
  #waiting: (() => void)[] = []

  /** The sends of calls that are under way or not recorded yet. */
  requestIds(): string[] {
    return [...this.#unrecorded.keys()]
  }

  /** How many callbacks to read: more and more, since a claim may end with its first call. */
  nextLimit(): number {
    this.#limit = this.isCareful ? carefulLimit : Math.min(maxUnrecorded, this.#limit * 4)
    return this.#limit
  }

  /** A call has ended. After a failure, no other one begins under this claim; after a success, several at a time. */
  note(isDelivered: boolean): void {
    if (isDelivered) this.isCareful = false
    else this.hasEnded = true
  }

  /** Waits until another call may begin, or none may any more. */
  async mayBegin(): Promise<void> {
    while (!this.hasEnded && (this.#calling >= this.#width || this.#unrecorded.size >= maxUnrecorded))
      await new Promise<void>((resolve) => this.#waiting.push(resolve))
  }

  begin(requestId: string, call: Call): void {
    this.#calling++
    const recorded = call()
      .finally(() => {
        this.#calling--
        this.#change()
      })
      .then((record) => record())
      .catch((error: unknown) => {
        this.#faults.push(error)
        this.hasEnded = true
      })
      .finally(() => {
        this.#unrecorded.delete(requestId)
        this.#change()
      })
    this.#unrecorded.set(requestId, recorded)
  }

  /** Waits until all calls are recorded, at most for this long. */
  async areRecordedWithin(ms: number): Promise<boolean> {
    await within(ms, Promise.all(this.#unrecorded.values()))
    return this.#unrecorded.size === 0
  }

  /** @throws if one could not be recorded. */
  async allRecorded(): Promise<void> {
    await Promise.all(this.#unrecorded.values())
    if (this.#faults.length > 0) throw this.#faults[0]
  }

  get #width(): number {
    return this.isCareful ? 1 : callsAtATime
  }

  #change(): void {
    for (const goOn of this.#waiting.splice(0)) goOn()
  }
}

async function within(ms: number, work: Promise<unknown>): Promise<void> {
  const over = new AbortController()
  const waited = sleep(ms, undefined, { signal: over.signal }).catch(() => {})
  await Promise.race([work, waited]).finally(() => over.abort())
}
