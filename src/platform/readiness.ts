import { sql } from 'drizzle-orm'
import type { Clients } from './clients.ts'
import { Deadline } from './deadline.ts'

const answerWithinMs = 1000

export const hindrances = {
  draining: 'This process is about to end.',
  noDatabase: 'PostgreSQL does not answer.',
}

/**
 * Whether a process can take work: PostgreSQL answers, and it isn't draining. Redis doesn't count: sends are accepted
 * and kept without it. A worker is also asked whether wake-ups reach it.
 */
export class Readiness {
  readonly #runtime: Pick<Clients, 'db'>
  readonly #ownHindrance: () => string | undefined
  #draining = false
  #lastAskedAt = Number.NEGATIVE_INFINITY
  #asking: Promise<string | undefined> | undefined

  /** @param ownHindrance what else may keep a process of this kind from its work. */
  constructor(runtime: Pick<Clients, 'db'>, ownHindrance: () => string | undefined = () => undefined) {
    this.#runtime = runtime
    this.#ownHindrance = ownHindrance
  }

  /** Why the process takes no work at the moment; undefined where it does. */
  async hindrance(): Promise<string | undefined> {
    this.#lastAskedAt = performance.now()
    if (this.#draining) return hindrances.draining
    // Whoever asks meanwhile shares the query: anybody may ask, and mustn't take up the connections of sends.
    this.#asking ??= this.#askDatabase().finally(() => {
      this.#asking = undefined
    })
    return (await this.#asking) ?? this.#ownHindrance()
  }

  async #askDatabase(): Promise<string | undefined> {
    try {
      await new Deadline(answerWithinMs).spend(this.#runtime.db.execute(sql`select 1`))
      return undefined
    } catch {
      return hindrances.noDatabase
    }
  }

  /** From now on the process says that it takes no work. */
  drain(): void {
    this.#draining = true
  }

  /** Whether somebody goes by what it says, so that it has to be given time to be heard. */
  wasAskedWithin(ms: number): boolean {
    return performance.now() - this.#lastAskedAt < ms
  }
}
