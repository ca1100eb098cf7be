/** Thrown where no room was free in time. */
export class NoRoom extends Error {
  constructor() {
    super('there was no room for a large body in time')
  }
}

interface Guest {
  bytes: number
  owner: string
}

interface Waiting extends Guest {
  enter: () => void
  giveUp: (reason: unknown) => void
}

export interface RoomOptions {
  bytes: number
  /** What one owner may have of it; a single guest larger than that is let in while its owner has no other. */
  bytesOfOwner: number
}

/**
 * So many bytes, of which each guest has its part until it leaves. Who finds too few waits in a line; in it only those
 * are overtaken whose owner has its share already.
 */
export class Room {
  readonly #options: RoomOptions
  readonly #line: Waiting[] = []
  readonly #bytesOf = new Map<string, number>()
  #taken = 0

  constructor(options: RoomOptions) {
    this.#options = options
  }

  get takenBytes(): number {
    return this.#taken
  }

  get waiting(): number {
    return this.#line.length
  }

  /**
   * @param within milliseconds.
   * @param signal of who goes away while it waits.
   * @returns how to leave, which may be called more than once.
   * @throws NoRoom after so long; the signal's reason where that comes first.
   */
  async enter(guest: Guest, within: number, signal?: AbortSignal): Promise<() => void> {
    signal?.throwIfAborted()
    if (this.#line.length === 0 && this.#fits(guest)) return this.#admit(guest)
    return await new Promise((resolve, reject) => {
      const giveUp = (reason: unknown) => {
        if (this.#line.includes(waiting)) this.#line.splice(this.#line.indexOf(waiting), 1)
        settle()
        reject(reason)
        // It may have been what the others waited for.
        this.#admitFromLine()
      }
      const timer = setTimeout(() => giveUp(new NoRoom()), within)
      const abort = () => giveUp(signal?.reason)
      const settle = () => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', abort)
      }
      const waiting: Waiting = {
        ...guest,
        giveUp,
        enter: () => {
          settle()
          resolve(this.#admit(guest))
        },
      }
      signal?.addEventListener('abort', abort)
      this.#line.push(waiting)
      this.#admitFromLine()
    })
  }

  /** All who wait are told that there is no room. */
  refuseWaiting(): void {
    for (const { giveUp } of this.#line.splice(0)) giveUp(new NoRoom())
  }

  #admit({ bytes, owner }: Guest): () => void {
    this.#add(owner, bytes)
    let isIn = true
    return () => {
      if (!isIn) return
      isIn = false
      this.#add(owner, -bytes)
      this.#admitFromLine()
    }
  }

  #add(owner: string, bytes: number): void {
    this.#taken += bytes
    const left = this.#held(owner) + bytes
    if (left > 0) this.#bytesOf.set(owner, left)
    else this.#bytesOf.delete(owner)
  }

  #admitFromLine(): void {
    for (let at = 0; at < this.#line.length; ) {
      const next = this.#line[at] as Waiting
      if (!this.#isWithinShare(next)) at++
      else if (!this.#fits(next)) return
      else this.#line.splice(at, 1)[0]?.enter()
    }
  }

  #fits(guest: Guest): boolean {
    const { bytes } = this.#options
    return this.#isWithinShare(guest) && (this.#taken === 0 || this.#taken + guest.bytes <= bytes)
  }

  #isWithinShare({ owner, bytes }: Guest): boolean {
    const held = this.#held(owner)
    return held === 0 || held + bytes <= this.#options.bytesOfOwner
  }

  #held(owner: string): number {
    return this.#bytesOf.get(owner) ?? 0
  }
}
