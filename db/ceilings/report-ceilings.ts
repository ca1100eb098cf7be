import { type CeilingReport, reportedShares } from '../../src/core/accounts/ceiling.ts'
import { ceilingType } from '../../src/core/callbacks/callback.ts'
import { endpointsToWake } from '../callbacks/new-callbacks.ts'
import type { Database } from '../connection/client.ts'
import { isoText, prepared, sqlText } from '../statement.ts'

/** A share of a ceiling that was used. The endpoints that chose it get a callback about it, and may be called now. */
export interface ReportedCeiling {
  report: CeilingReport
  endpointsToWake: string[] | null
}

/** SQL of the highest share of a ceiling `c` that was used. */
const share = sqlText`
  (select max(share) from unnest(array[${reportedShares.join(', ')}]) share
   where c.used * 100 >= c.amount * share)`

const reportStatement = prepared<ReportedCeiling>(
  'report_ceilings',
  'Finds ceilings of which a share was used that is not reported yet, and announces that.',
  sqlText`
    -- $1: how many.
    with
    -- The ceilings with more use than is reported of their present period, locked in the order of the claims.
    locked as materialized (
      select * from ceilings c
      where
        ${share}
          > c.reported
        and ceiling_start(c.period, c.starts_at, clock_timestamp()) = c.starts_at
      order by c.owner_id, c.unit, c.period
      limit $1
      for no key update),
    -- The reports, each with an id that its callbacks have in place of a send's.
    reports as materialized (
      select c.owner_id, c.unit, c.period, own.percent, gen_random_uuid() as id,
             json_build_object(
               'accountId', c.account_id, 'channelId', nullif(c.owner_id, c.account_id),
               'ceiling', concat(c.amount, ' ', c.unit, '/', c.period), 'percent', own.percent,
               'until', ${isoText('own.ends')}) as report,
             (select array_agg(e.id) from endpoints e
              where e.account_id = c.account_id and '${ceilingType}' = any(e.events)) as endpoint_ids
      from locked c cross join lateral (
        select ceiling_end(c.period, c.starts_at) as ends,
               ${share} as percent) own),
    -- Their ceilings, which are not reported at this share again.
    noted as (
      update ceilings c set reported = r.percent
      from reports r
      where (c.owner_id, c.unit, c.period) = (r.owner_id, r.unit, r.period)),
    -- The callbacks.
    announced as (
      insert into callbacks (endpoint_id, request_id, sequence, type, data)
      select e.endpoint_id, r.id, 0, '${ceilingType}', r.report
      from reports r cross join lateral unnest(r.endpoint_ids) e (endpoint_id))
    select r.report,
           ${endpointsToWake('r.endpoint_ids')}
    from reports r`,
)

/** Reports ceilings, each share once a period, however many workers look for them. */
export function reportCeilings(db: Database, limit: number): Promise<ReportedCeiling[]> {
  return reportStatement(db, [limit])
}
