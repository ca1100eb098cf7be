import type { Database } from '../../db/connection/client.ts'
import type { Actor } from '../core/accounts/actor.ts'

/** Where a change is made, and by whom: a command or a page. */
export interface Making {
  db: Database
  actor: Actor
}
