import type { ClaimedEndpoint } from '../../db/callbacks/endpoint-claims.ts'
import { newId } from '../../src/core/new-id.ts'
import type { Slot } from './call-slots.ts'

/** Calls at a time of an endpoint that answers. */
export const callsAtATime = 4
/** So that a database that is slow, or away, doesn't let unrecorded calls pile up. */
const maxUnrecorded = 256
const carefulLimit = 4

type Read = Pick<ClaimedEndpoint, 'url' | 'isAnswering'>

/** A call ends, and is then recorded: the next one needn't wait for that. */
type Call = () => Promise<() => Promise<unknown>>

/** The calls of one claim of an endpoint. */
export class CallsOfClaim {
  readonly claimId = newId()
  #isCareful = true
  #url: string | undefined
  /** Whether no further call may begin: a call has failed. */
  hasEnded = false
  readonly #unrecorded = new Map<string, Promise<unknown>>()
  readonly #faults: unknown[] = []
  #calling = 0
  #isWoken = false
  #limit = carefulLimit
  #waiting: (() => void)[] = []
  #slot: Slot | undefined

  /** @param slot for the first call. */
  constructor(slot?: Slot) {
    this.#slot = slot
  }

  takeSlot(): Slot | undefined {
    const slot = this.#slot
    this.#slot = undefined
    return slot
  }

  /** The sends of calls that are under way or not recorded yet. */
  requestIds(): string[] {
    return [...this.#unrecorded.keys()]
  }

  /** The endpoint has got callbacks since the last read. */
  wake(): void {
    this.#isWoken = true
    this.#change()
  }

  /** How many callbacks to read: more and more, since a claim may end with its first call. */
  nextLimit(): number {
    this.#isWoken = false
    this.#limit = this.isCareful ? carefulLimit : Math.min(maxUnrecorded, this.#limit * 4)
    return this.#limit
  }

  /** Whether only one call is made at a time, as the endpoint hasn't answered lately. */
  get isCareful(): boolean {
    return this.#isCareful
  }

  /** The endpoint was read, with its callbacks. */
  noteRead({ url, isAnswering }: Read): void {
    this.#url = url
    this.#isCareful = !isAnswering
  }

  /**
   * A call has ended. After a failure, no other one begins under this claim; after a success, several at a time. What a former URL
   * answers says nothing about the one that was read last.
   */
  noteAnswer({ url }: Pick<Read, 'url'>, isDelivered: boolean): void {
    if (url !== this.#url) return
    if (isDelivered) this.#isCareful = false
    else this.hasEnded = true
  }

  /** Waits until another call may begin, or none may any more. */
  async mayBegin(): Promise<void> {
    while (!this.hasEnded && (this.#calling >= this.#width || this.#unrecorded.size >= maxUnrecorded))
      await this.#changed()
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
    await this.#within(ms, () => this.#unrecorded.size === 0)
    return this.#unrecorded.size === 0
  }

  /** Waits until the endpoint is woken again, or all calls are recorded; at most for this long. @returns whether nothing is left to do. */
  async isIdleWithin(ms: number): Promise<boolean> {
    await this.#within(ms, () => this.#isWoken || this.#unrecorded.size === 0)
    return !this.#isWoken && this.#unrecorded.size === 0
  }

  /** @throws if one could not be recorded. */
  async allRecorded(): Promise<void> {
    await Promise.all(this.#unrecorded.values())
    if (this.#faults.length > 0) throw this.#faults[0]
  }

  get #width(): number {
    return this.isCareful ? 1 : callsAtATime
  }

  async #within(ms: number, isSo: () => boolean): Promise<void> {
    let isOver = false
    const timer = setTimeout(() => {
      isOver = true
      this.#change()
    }, ms)
    while (!isSo() && !isOver) await this.#changed()
    clearTimeout(timer)
  }

  #changed(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve))
  }

  #change(): void {
    for (const goOn of this.#waiting.splice(0)) goOn()
  }
}
