import { ownReasons } from '../../src/core/sends/own-reasons.ts'
import type { Database } from '../connection/client.ts'
import { failQueued } from './fail-queued.ts'

const expireStatement = failQueued('expire_sends', 'Fails queued sends that have expired.', {
  failure: `'${ownReasons.expired}'`,
  which: 's.expires_at <= now()',
})

/** Fails sends that have waited longer than their channel allows. */
export const expireSends = (db: Database, limit: number) => expireStatement(db, [limit])
