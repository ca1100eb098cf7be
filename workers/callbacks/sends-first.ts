import type { EventLoopUtilization } from 'node:perf_hooks'
import type { InFlight } from '../queue/in-flight.ts'

const lookEveryMs = 1000
const busyShare = 0.8
/** While sends keep the process busy, so many of them end for each callback that is claimed. */
const sendsPerCallback = 3
/** More callbacks than this for each send that ends: the callbacks keep the process busy, as when many are sent again, not the sends. */
const maxCallbacksPerSend = 10
const longestMs = 1000

/**
 * Lets sends go first: while they keep this process busy, callbacks are claimed less often, and more of them at once. Otherwise
 * telling of a send would take the process as long as delivering one. Callbacks that wait gather at their endpoints, and each claim
 * has more of them. One endpoint that gets callbacks for all these sends falls behind, until the process is less busy.
 */
export class SendsFirst {
  readonly #sends: Pick<InFlight, 'endedCount'>
  readonly #utilization: typeof performance.eventLoopUtilization
  #last: {
    atMs: number
    endedCount: number
    claimedTotal: number
    used: EventLoopUtilization
  }
  #wasBusy = false
  /** The figure of the last second; undefined unless they have kept the process busy for two seconds: a short burst delays no callback. */
  #sendsPerMs: number | undefined
  #claimedCount = 0
  #claimedTotal = 0

  constructor(
    sends: Pick<InFlight, 'endedCount'>,
    utilization: typeof performance.eventLoopUtilization = performance.eventLoopUtilization,
  ) {
    this.#sends = sends
    this.#utilization = utilization
    this.#last = this.#present()
  }

  /** Notes how many callbacks the last claims had. */
  noteClaimed(count: number): void {
    this.#claimedCount = count
    this.#claimedTotal += count
  }

  /** How long to wait before the next claims. Undefined: not at all. */
  gatherMs(): number | undefined {
    this.#look()
    if (this.#sendsPerMs === undefined) return undefined
    return Math.min(longestMs, (sendsPerCallback * this.#claimedCount) / this.#sendsPerMs)
  }

  #look(): void {
    const [last, present] = [this.#last, this.#present()]
    const passedMs = present.atMs - last.atMs
    if (passedMs < lookEveryMs) return
    const ended = present.endedCount - last.endedCount
    const claimed = present.claimedTotal - last.claimedTotal
    const areManySends = ended > 0 && claimed <= ended * maxCallbacksPerSend
    const isBusy = areManySends && this.#utilization(present.used, last.used).utilization >= busyShare
    this.#sendsPerMs = isBusy && this.#wasBusy ? ended / passedMs : undefined
    this.#wasBusy = isBusy
    this.#last = present
  }

  #present() {
    return {
      atMs: performance.now(),
      endedCount: this.#sends.endedCount,
      claimedTotal: this.#claimedTotal,
      used: this.#utilization(),
    }
  }
}
