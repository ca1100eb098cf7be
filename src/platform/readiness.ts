import { sql } from 'drizzle-orm'
import type { Clients } from './clients.ts'
import { Deadline } from './deadline.ts'
import { logWarning } from './logger.ts'
import { checkMigrated } from './migrated.ts'
import { refusalOf } from './redis-refusal.ts'

export const answerWithinMs = 1000

export const notReadyReasons = {
  draining: 'This process is about to end.',
  noDatabase: 'PostgreSQL does not answer.',
  notMigrated: 'PostgreSQL lacks migrations of this release.',
}

/**
 * Whether a process can take work: PostgreSQL answers and has this release's migrations, and the process isn't draining. A Redis that
 * is away doesn't count, since sends are accepted and kept without it; one that refuses this process since its start does.
 */
export class Readiness {
  readonly #runtime: Pick<Clients, 'db' | 'log' | 'shards'>
  readonly #otherReason: () => string | undefined
  #draining = false
  #logged: string | undefined
  #lastAskedAt = Number.NEGATIVE_INFINITY
  #asking: Promise<string | undefined> | undefined

  /** @param otherReason another reason that keeps this kind of process from its work, such as missing wake-ups. */
  constructor(
    runtime: Pick<Clients, 'db' | 'log' | 'shards'>,
    otherReason: () => string | undefined = () => undefined,
  ) {
    this.#runtime = runtime
    this.#otherReason = otherReason
  }

  /** Why the process can't take work at the moment; undefined if it can. Logs each change once, however often it is asked. */
  async reasonNotReady(): Promise<string | undefined> {
    this.#lastAskedAt = performance.now()
    const reason = await this.#ask()
    if (reason !== this.#logged) {
      const { log } = this.#runtime
      if (reason === undefined) log.info({ event: 'ready_again' })
      else logWarning(log, 'not_ready', new Error(reason))
      this.#logged = reason
    }
    return reason
  }

  async #ask(): Promise<string | undefined> {
    if (this.#draining) return notReadyReasons.draining
    // Concurrent checks share one query: the route is public, and must not use up the connections that sends need.
    this.#asking ??= this.#askDatabase().finally(() => {
      this.#asking = undefined
    })
    return (await this.#asking) ?? this.#refusal() ?? this.#otherReason()
  }

  #refusal(): string | undefined {
    return this.#runtime.shards.map(({ redis }) => refusalOf(redis)).find((reason) => reason !== undefined)
  }

  async #askDatabase(): Promise<string | undefined> {
    try {
      const deadline = new Deadline(answerWithinMs)
      await deadline.spend(this.#runtime.db.execute(sql`select 1`))
      return (await deadline.spend(checkMigrated(this.#runtime))) ? undefined : notReadyReasons.notMigrated
    } catch {
      return notReadyReasons.noDatabase
    }
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
