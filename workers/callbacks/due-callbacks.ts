import { setTimeout as sleep } from 'node:timers/promises'
import pLimit from 'p-limit'
import type { ClaimedEndpoint, ClaimRequest, DueCallback } from '../../db/callbacks/endpoint-claims.ts'
import type { WorkerTimes } from '../worker-times.ts'

/** Callbacks of an endpoint that are read at once, and that may be under way without being recorded. */
const mostAtOnce = 256

interface Claim {
  /** Claims the endpoint, or keeps its claim, and reads what is due. */
  read(request: Pick<ClaimRequest, 'except' | 'limit'>): Promise<ClaimedEndpoint | undefined>
  isInSlowStart: boolean
  /** Whether the worker may begin a further call. */
  mayCall(): boolean
  times: Pick<WorkerTimes, 'endpointClaimMs' | 'lookAgainMs'>
}

/** Calls the endpoint, and resolves with whether it took the callback; `recorded` resolves later. */
export type Call = (
  claimed: ClaimedEndpoint,
  callback: DueCallback,
) => { isDelivered: Promise<boolean>; recorded: Promise<void> }

/** The callbacks of one claim of an endpoint: those that were read, and those that are called or not recorded yet. */
export class DueCallbacks {
  readonly #claim: Claim
  readonly #oneAtATime = pLimit(1)
  readonly #unrecorded = new Map<string, Promise<void>>()
  #claimed: ClaimedEndpoint | undefined
  #due: DueCallback[] = []
  #reading: Promise<void> | undefined
  #readAt = Number.NEGATIVE_INFINITY
  /** Whether the last read had all that was due. */
  #hasReadAll = false
  #endsAt: number
  #hasEnded = false
  #fault: unknown

  constructor(claim: Claim) {
    this.#claim = claim
    this.#endsAt = performance.now() + claim.times.endpointClaimMs
  }

  /** Waits until a callback can be called. @returns false when the claim has to end. */
  hasNext(): Promise<boolean> {
    return this.#oneAtATime(() => this.#look())
  }

  /** Makes the next call, if there is one. An endpoint that was read too long ago is read again first: its secret may have changed. */
  async callNext(call: Call): Promise<void> {
    if (this.#isOver) return
    if (performance.now() >= this.#readAt + this.#claim.times.endpointClaimMs) await this.#read()
    const callback = this.#isOver ? undefined : this.#due.shift()
    if (!callback || !this.#claimed) return
    const { isDelivered, recorded } = call(this.#claimed, callback)
    const { requestId } = callback
    const tracked = recorded
      .catch((error: unknown) => {
        this.#fault = error
        this.#hasEnded = true
      })
      .finally(() => this.#unrecorded.delete(requestId))
    this.#unrecorded.set(requestId, tracked)
    // After a failure, no other call begins under this claim. An error rejects `recorded`, too, which keeps it.
    if (!(await isDelivered.catch(() => false))) this.end()
  }

  /** Lets no further call begin. */
  end(): void {
    this.#hasEnded = true
  }

  /** Lets no further call begin, and waits. @throws what kept a callback from being called or recorded. */
  async allRecorded(): Promise<void> {
    this.end()
    await Promise.all(this.#unrecorded.values())
    if (this.#fault !== undefined) throw this.#fault
  }

  get #isOver(): boolean {
    return this.#hasEnded || !this.#claim.mayCall()
  }

  async #look(): Promise<boolean> {
    while (!this.#isOver) {
      if (this.#due.length > 0) return true
      if (this.#hasReadAll || performance.now() >= this.#endsAt) {
        if (!(await this.#isCallStillUnderWay())) return false
        // A slow call keeps the endpoint from other workers anyway: without this, its other sends would wait for that call.
        this.#endsAt = Number.POSITIVE_INFINITY
      } else if (this.#unrecorded.size >= mostAtOnce) await Promise.race(this.#unrecorded.values())
      await this.#read()
    }
    return false
  }

  /** Waits for the calls, but not long. @returns whether one isn't recorded then. */
  async #isCallStillUnderWay(): Promise<boolean> {
    await Promise.race([Promise.all(this.#unrecorded.values()), sleep(this.#claim.times.lookAgainMs)])
    return this.#unrecorded.size > 0
  }

  #read(): Promise<void> {
    this.#reading ??= this.#readDue().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  async #readDue(): Promise<void> {
    const except = [...this.#unrecorded.keys()]
    const limit = mostAtOnce - except.length
    const claimed = await this.#claim.read({ except, limit })
    this.#claimed = claimed
    this.#due = claimed?.callbacks ?? []
    this.#readAt = performance.now()
    this.#hasReadAll = this.#due.length < limit
    // The queue of slow starts takes care of one that has come into it.
    if (!claimed || (claimed.isInSlowStart && !this.#claim.isInSlowStart)) this.#hasEnded = true
  }
}
