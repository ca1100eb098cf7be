import { LRUCache } from 'lru-cache'

interface Options {
  atOnce: number
  waiting: number
}

interface Attempt {
  network: string
  /** From an address where the person signed in before. */
  isKnown: boolean
  run: () => void
  giveWay: () => void
}

const remembered = { max: 20_000, ttl: 900_000 }

/**
 * Limits how many passwords are hashed at once. Whom a stranger must not hold up goes first: an attempt from an address where
 * the person signed in before; then one from the network with the fewest attempts that were no sign-in; of equals, the newest.
 * When too many wait, the last in that order gives way. In order of arrival, strangers could keep the queue full for all.
 */
export class SignInQueue {
  readonly #options: Options
  readonly #waiting: Attempt[] = []
  readonly #failures = new LRUCache<string, number>(remembered)
  #running = 0

  constructor(options: Options) {
    this.#options = options
  }

  /** @returns what `isRight` found, or `busy` if the attempt had to give way. */
  async check(
    { network, isKnown }: Pick<Attempt, 'network' | 'isKnown'>,
    isRight: () => Promise<boolean>,
  ): Promise<boolean | 'busy'> {
    this.#count(network, 1)
    const mayRun = await new Promise<boolean>((resolve) => {
      this.#waiting.push({ network, isKnown, run: () => resolve(true), giveWay: () => resolve(false) })
      this.#serve()
    })
    if (!mayRun) return 'busy'
    try {
      const found = await isRight()
      if (found) this.#count(network, -1)
      return found
    } finally {
      this.#running--
      this.#serve()
    }
  }

  #serve(): void {
    // The newest is the last; the sort keeps the order of equals.
    this.#waiting.sort((one, other) => this.#rank(other) - this.#rank(one))
    while (this.#running < this.#options.atOnce && this.#waiting.length > 0) {
      this.#running++
      this.#waiting.pop()?.run()
    }
    while (this.#waiting.length > this.#options.waiting) this.#waiting.shift()?.giveWay()
  }

  /** The lowest is first. */
  #rank({ isKnown, network }: Attempt): number {
    return isKnown ? -1 : this.#failuresOf(network)
  }

  /** An attempt counts as failed until its password is found right: those at once would not be counted otherwise. */
  #count(network: string, change: number): void {
    this.#failures.set(network, this.#failuresOf(network) + change)
  }

  #failuresOf(network: string): number {
    return this.#failures.get(network) ?? 0
  }
}
