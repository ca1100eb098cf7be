import { recordKeyUses } from '../../../db/accounts/api-keys.ts'
import type { Database } from '../../../db/connection/client.ts'
import { outsideSpans } from '../../platform/log/tracing.ts'

const recordAfterMs = 1000

/**
 * Gathers keys whose last use has to be recorded, and records them once a second. No request waits for that, and what PostgreSQL
 * doesn't take is left out: the next look-up of the key adds it again.
 */
export class KeyUses {
  readonly #db: Database
  #gathered = new Set<string>()

  constructor(db: Database) {
    this.#db = db
  }

  add(keyId: string): void {
    if (this.#gathered.size === 0) outsideSpans(() => setTimeout(() => this.#record(), recordAfterMs).unref())
    this.#gathered.add(keyId)
  }

  #record(): void {
    const gathered = [...this.#gathered]
    this.#gathered.clear()
    recordKeyUses(this.#db, gathered).catch(() => {})
  }
}
