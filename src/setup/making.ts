import type { Database, Transaction } from '../../db/connection/client.ts'
import type { Actor } from '../core/accounts/actor.ts'

/** Where a change is made, and by whom: a command or a page. In a transaction, it becomes a part of that. */
export interface Making {
  db: Database | Transaction
  actor: Actor
}
