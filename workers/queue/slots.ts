import { OverflowLimit } from './overflow-limit.ts'

/** The queue from which a wake-up came. */
export type QueueKind = 'ordinary' | 'overflow'

/** A send's part of the worker, from its wake-up until its outcome is recorded. */
export interface Slot {
  readonly queue: QueueKind
  /** Call it when the send is claimed. */
  claimedFor(accountId: string): void
  /** The send waits for its provider: until `resumeWork`, the worker has nothing to do for it. */
  pauseWork(): void
  /** The provider has answered. Resumes at once, also beyond the limits: an outcome never waits. */
  resumeWork(): void
}

/** A slot to give back. */
export interface HeldSlot extends Slot {
  release(): void
}

/** The slot of a worker that limits nothing. */
export const unlimitedSlot: Slot = {
  queue: 'ordinary',
  claimedFor: () => {},
  pauseWork: () => {},
  resumeWork: () => {},
}

/** Share of the slots that each queue has for itself, so that slow calls of one leave slots to the other. */
export const keptShare = 0.05
/** Sends of the ordinary queue that the worker works on at a time. More make batches no cheaper. */
export const maxOrdinaryWork = 256

interface Part {
  /** Sends that hold a slot. */
  inFlight: number
  /** Sends among them that don't wait for their provider. */
  atWork: number
  /** Wake-ups that wait for a slot. */
  waiting: (() => void)[]
}

const emptyPart = (): Part => ({ inFlight: 0, atWork: 0, waiting: [] })

/**
 * The slots of a worker, which both queues share (docs/explanation/delivery.md#slots). The part of a send that uses the worker itself,
 * its claim and its outcome, is bounded apart from the wait for its provider, which costs next to nothing. A backlog may use all
 * slots but a few; the ordinary queue comes first wherever both wait.
 */
export class Slots {
  /** How many sends of the overflow may be in flight. */
  readonly maxOverflow: number
  readonly #maxInFlight: number
  readonly #keptForOverflow: number
  readonly #parts: Record<QueueKind, Part> = { ordinary: emptyPart(), overflow: emptyPart() }
  /** Accounts with overflow in flight, and how many sends of it. */
  readonly #overflowOf = new Map<string, number>()
  readonly #workLimit = new OverflowLimit()
  #lastStarted: QueueKind = 'overflow'
  #isOpen = false

  /** @param maxInFlight how many sends may be in flight. */
  constructor(maxInFlight: number) {
    this.#maxInFlight = maxInFlight
    this.maxOverflow = Math.max(1, maxInFlight - Math.ceil(maxInFlight * keptShare))
    this.#keptForOverflow = Math.max(1, Math.floor(maxInFlight * keptShare))
  }

  /** A further send of the overflow starts only while fewer sends, of both queues, are at work. */
  get overflowLimit(): number {
    return this.#workLimit.current
  }

  atWork(queue: QueueKind): number {
    return this.#parts[queue].atWork
  }

  /** Waits until there is a slot for a send of the queue. */
  async acquire(queue: QueueKind): Promise<HeldSlot> {
    const part = this.#parts[queue]
    if (part.waiting.length > 0 || !this.#mayStart(queue)) {
      await new Promise<void>((resolve) => part.waiting.push(resolve))
    } else {
      this.#begin(queue)
    }
    let account: string | undefined
    let isPaused = false
    const setPaused = (paused: boolean) => {
      if (paused !== isPaused) part.atWork += paused ? -1 : 1
      isPaused = paused
    }
    return {
      queue,
      claimedFor: (accountId) => {
        account = accountId
        if (queue === 'overflow') this.#countOverflow(accountId, 1)
        else if (!this.#overflowOf.has(accountId)) this.#workLimit.lower()
      },
      pauseWork: () => {
        setPaused(true)
        this.#startNext()
      },
      resumeWork: () => setPaused(false),
      release: () => {
        setPaused(false)
        if (queue === 'overflow' && this.#isHeldBackByWork()) this.#workLimit.raise()
        if (queue === 'overflow' && account !== undefined) this.#countOverflow(account, -1)
        part.inFlight--
        part.atWork--
        this.#startNext()
      },
    }
  }

  /** Lets all start that wait. */
  startAll(): void {
    this.#isOpen = true
    this.#startNext()
  }

  /**
   * How many more wake-ups of the queue to take from Redis: as many as find a free slot. A wake-up that waited here for slow calls
   * could be with another worker. The overflow's own share gets free for it, so it may wait for that.
   */
  roomFor(queue: QueueKind): number {
    const room =
      queue === 'ordinary' ? this.#free(queue) : Math.max(this.#free(queue), this.#leftOfOverflowShare)
    return Math.max(0, room - this.#parts[queue].waiting.length)
  }

  #mayStart(queue: QueueKind): boolean {
    if (this.#isOpen) return true
    if (this.#free(queue) <= 0) return false
    const { ordinary, overflow } = this.#parts
    if (queue === 'ordinary') return ordinary.atWork < maxOrdinaryWork
    if (overflow.atWork < this.#workLimit.min) return true
    return ordinary.waiting.length === 0 && ordinary.atWork + overflow.atWork < this.#workLimit.current
  }

  /** How many slots are free for the queue. */
  #free(queue: QueueKind): number {
    const { ordinary, overflow } = this.#parts
    const inFlight = ordinary.inFlight + overflow.inFlight
    const free = this.#maxInFlight - inFlight
    if (queue === 'ordinary') {
      // A single slot goes to both queues by turns.
      const mayKeep = this.#maxInFlight > 1 || this.#lastStarted === 'ordinary'
      return overflow.waiting.length > 0 && mayKeep ? free - this.#leftOfOverflowShare : free
    }
    const shared = Math.min(
      this.maxOverflow - inFlight,
      this.#maxOverflowBesideOrdinary() - overflow.inFlight,
    )
    return Math.min(free, Math.max(shared, this.#leftOfOverflowShare))
  }

  /** Slots of the overflow's own share that it doesn't use. */
  get #leftOfOverflowShare(): number {
    return Math.max(0, this.#keptForOverflow - this.#parts.overflow.inFlight)
  }

  /** For each slot that the ordinary queue uses, another one is kept free for it. */
  #maxOverflowBesideOrdinary(): number {
    const { ordinary } = this.#parts
    return Math.max(this.#workLimit.min, this.maxOverflow - 2 * ordinary.inFlight)
  }

  /** Whether the overflow waits because as many sends are at work as it may bring them to. */
  #isHeldBackByWork(): boolean {
    const { ordinary, overflow } = this.#parts
    return overflow.waiting.length > 0 && ordinary.atWork + overflow.atWork >= this.#workLimit.current
  }

  #startNext(): void {
    for (const queue of ['ordinary', 'overflow'] as const) {
      const part = this.#parts[queue]
      while (part.waiting.length > 0 && this.#mayStart(queue)) {
        this.#begin(queue)
        part.waiting.shift()?.()
      }
    }
  }

  #begin(queue: QueueKind): void {
    this.#lastStarted = queue
    this.#parts[queue].inFlight++
    this.#parts[queue].atWork++
  }

  #countOverflow(accountId: string, by: 1 | -1): void {
    const count = (this.#overflowOf.get(accountId) ?? 0) + by
    if (count > 0) this.#overflowOf.set(accountId, count)
    else this.#overflowOf.delete(accountId)
  }
}
