import type { Database } from '../client.ts'
import { isOrphaned, type Sweeper } from '../delivery/lost-claims.ts'
import { prepared, sqlText } from '../statement.ts'

const releaseStatement = prepared<{ endpointId: string }>(
  'release_lost_endpoints',
  'Ends claims of endpoints that no worker will end, because their worker is dead or has dropped them.',
  sqlText`
    -- $1: how many; $2: the sweeping worker; $3: its claims; $4: until when it may sweep.
    update endpoints e set worker = null, claim_id = null, claimed_at = null
    from (
      select h.id
      from endpoints h left join workers w on w.name = h.worker
      where h.claim_id is not null
        and ${isOrphaned({ worker: 'h.worker', id: 'h.claim_id', since: 'h.claimed_at' })}
      order by h.id
      limit $1
      for no key update of h skip locked) lost
    where e.id = lost.id
    returning e.id as "endpointId"`,
)

/**
 * Ends the claims of dead workers. Their callbacks are called again: at least once, with the same `webhook-id`.
 *
 * @param sweeper.inFlight the claims of the sweeping worker.
 * @returns their endpoints.
 */
export async function releaseLostClaims(db: Database, sweeper: Sweeper, limit: number): Promise<string[]> {
  const { worker, inFlight, sweepsUntil } = sweeper
  const rows = await releaseStatement(db, [limit, worker, inFlight, sweepsUntil])
  return rows.map(({ endpointId }) => endpointId)
}
