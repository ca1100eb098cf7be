import { causeLine, postgresCauses, type StoreCause } from '../../core/store-causes.ts'
import type { Clients } from '../clients.ts'
import { logWarning } from '../log/logger.ts'
import { refusalOf } from '../redis/refusal.ts'
import { logNotMigrated } from './migrated.ts'

const sentence = (cause: StoreCause) => `${causeLine(cause)}.`

export const notReadyReasons = {
  draining: 'This process is about to end.',
  noDatabase: sentence(postgresCauses.unreachable),
}

type Needed = Pick<Clients, 'database' | 'log' | 'shards'>

interface Reason {
  message: string
  /** Only of a store. */
  cause?: string
}

/**
 * Whether a process can take work: PostgreSQL can be used and has this release's migrations, and the process isn't draining. A Redis
 * that is away doesn't count, since sends are accepted and kept without it; one that refuses this process since its start does.
 */
export class Readiness {
  readonly #runtime: Needed
  readonly #otherReason: () => string | undefined
  #draining = false
  #logged: string | undefined
  #lastAskedAt = Number.NEGATIVE_INFINITY

  /** @param otherReason another reason that keeps this kind of process from its work, such as missing wake-ups. */
  constructor(runtime: Needed, otherReason: () => string | undefined = () => undefined) {
    this.#runtime = runtime
    this.#otherReason = otherReason
  }

  /** Why the process can't take work at the moment; undefined if it can. Logs each change once, however often it is asked. */
  async reasonNotReady(): Promise<string | undefined> {
    this.#lastAskedAt = performance.now()
    const { message, cause } = (await this.#ask()) ?? {}
    if (message !== this.#logged) {
      const { log } = this.#runtime
      if (message === undefined) log.info({ event: 'ready_again' })
      else logWarning(log, 'not_ready', new Error(message), { cause })
      this.#logged = message
    }
    return message
  }

  /** Whether it can take work, for metrics. Not as a balancer asks. */
  async isReady(): Promise<boolean> {
    return (await this.#ask()) === undefined
  }

  async #ask(): Promise<Reason | undefined> {
    const { database, log } = this.#runtime
    if (this.#draining) return { message: notReadyReasons.draining }
    const cause = await database.cause()
    if (cause === postgresCauses.not_migrated) logNotMigrated(log)
    if (cause) return { message: sentence(cause), cause: cause.cause }
    const message = this.#refusal() ?? this.#otherReason()
    return message === undefined ? undefined : { message }
  }

  #refusal(): string | undefined {
    return this.#runtime.shards.map(({ redis }) => refusalOf(redis)).find((reason) => reason !== undefined)
  }

  /** From now on the process reports that it takes no work. */
  drain(): void {
    this.#draining = true
  }

  /** Whether a balancer polls readiness, and so needs time to notice that the process is draining. */
  wasAskedWithin(ms: number): boolean {
    return performance.now() - this.#lastAskedAt < ms
  }
}
