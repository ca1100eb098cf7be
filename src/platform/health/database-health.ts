import type { Database } from '../../../db/connection/client.ts'
import { databaseCause } from '../../../db/connection/database-cause.ts'
import { askDatabase } from '../../../db/connection/usable.ts'
import type { StoreCause } from '../../core/store-causes.ts'
import { postgresCauses } from '../../core/store-causes.ts'
import { Deadline, DeadlinePassed } from '../deadline.ts'

export const answerWithinMs = 1000
/** A full disk refuses writes alone: a process whose writes failed for it reports that until it has had none for this long. */
const fullForMs = 10_000

/** Why this process can't use PostgreSQL: asked for `/readyz`, metrics and the console. */
export class DatabaseHealth {
  readonly #db: Database
  readonly #needsWrites: boolean
  #fullUntil = Number.NEGATIVE_INFINITY
  #asking: Promise<StoreCause | undefined> | undefined

  /** @param needsWrites whether the process is of no use while PostgreSQL takes no writes. */
  constructor(db: Database, needsWrites: boolean) {
    this.#db = db
    this.#needsWrites = needsWrites
  }

  /** PostgreSQL refused a statement with this error. */
  noteRefusal(error: Error): void {
    if (databaseCause(error) === postgresCauses.disk_full) this.#fullUntil = performance.now() + fullForMs
  }

  /** Concurrent calls share one query: `/readyz` is public, and must not use up the connections that sends need. */
  async cause(): Promise<StoreCause | undefined> {
    this.#asking ??= this.#ask(this.#needsWrites).finally(() => {
      this.#asking = undefined
    })
    return await this.#asking
  }

  /** Why writes can't work, also where the process only reads. */
  async causeForWrites(): Promise<StoreCause | undefined> {
    return await this.#ask(true)
  }

  async #ask(needsWrites: boolean): Promise<StoreCause | undefined> {
    try {
      const cause = await new Deadline(answerWithinMs).spend(askDatabase(this.#db, needsWrites))
      const isFull = performance.now() < this.#fullUntil
      return cause ?? (isFull ? postgresCauses.disk_full : undefined)
    } catch (error) {
      if (error instanceof DeadlinePassed) return postgresCauses.timeout
      return databaseCause(error) ?? postgresCauses.server_fault
    }
  }
}
