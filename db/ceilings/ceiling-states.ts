import type { Ceiling } from '../../src/core/accounts/ceiling.ts'
import type { Database } from '../connection/client.ts'
import { isOfAnyPriority } from '../delivery/priority-rule.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { isToBeCounted, presentPeriod, taken } from './ceiling-rule.ts'

/** A ceiling in its present period. */
export interface CeilingState extends Ceiling {
  ownerId: string
  /** By claims, and by the sends that wait; the latter are added up as far as the amount. */
  used: number
  until: Date
}

const statesStatement = prepared<CeilingState>(
  'ceiling_states',
  'Reads what is used of ceilings in their present periods, and what the sends take that wait.',
  sqlText`
    -- $1: the accounts and channels.
    select c.owner_id as "ownerId", c.amount::float8 as amount, c.unit, c.period, now.ends as until,
           (now.used + coalesce(waiting.amount, 0))::float8 as used
    from ceilings c cross join lateral ${presentPeriod}
      cross join lateral (
        select sum(first.amount) as amount
        from (
          select ${taken} as amount
          from channels join sends s on s.channel_id = channels.id
          where (channels.id = c.owner_id or channels.account_id = c.owner_id)
            and ${isOfAnyPriority('s')}
            and s.finished_at is null and s.status = 'queued'
            and ${isToBeCounted}
          limit greatest(0, c.amount - now.used)) first) waiting
    where ${isGiven('c.owner_id')}`,
)

export function readCeilings(db: Database, ownerIds: readonly string[]): Promise<CeilingState[]> {
  return statesStatement(db, [ownerIds])
}
