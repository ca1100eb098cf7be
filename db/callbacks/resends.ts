import { NIL } from 'uuid'
import type { Database, Transaction } from '../connection/client.ts'
import type { RunPage } from '../page.ts'
import { prepared, sqlText } from '../statement.ts'

/** SQL that makes callbacks wait again, with a new series of tries. In order of their numbers, as at first. */
const again = sqlText`
  set finished_at = null, given_up = false, next_try_at = clock_timestamp(), tried_before_resend = c.tried`

const resendSendStatement = prepared<{ endpointId: string }>(
  'resend_callbacks_of_send',
  'Makes the callbacks of a send wait again.',
  sqlText`
    -- $1: the send; $2: the endpoint; null for all of its account.
    update callbacks c
    ${again}
    from sends s join endpoints e on e.account_id = s.account_id
    where s.request_id = $1 and ($2::uuid is null or e.id = $2)
      and c.endpoint_id = e.id and c.request_id = s.request_id and c.finished_at is not null
    returning c.endpoint_id as "endpointId"`,
)

/** Sends the callbacks of a send once more. @returns how many. */
export async function resendOfSend(
  db: Database | Transaction,
  { requestId, endpointId }: { requestId: string; endpointId?: string | undefined },
): Promise<number> {
  return (await resendSendStatement(db, [requestId, endpointId ?? null])).length
}

const resendEndpointStatement = prepared<{
  requestId: string | null
  sequence: number
  resent: number
  waiting: number
  delivered: number
  earlier: number
  isMore: boolean
}>(
  'resend_callbacks_of_endpoint',
  'Makes a page of the callbacks of an endpoint wait again.',
  sqlText`
    -- $1: the endpoint; $2: since when; $3: whether only those that were given up; $4: after this send; $5: and number;
    -- $6: how many to look at.
    with
    -- The endpoint's next callbacks, matching or not, so that every page takes about the same time.
    page as materialized (
      select c.request_id, c.sequence, c.created_at, c.finished_at, c.given_up
      from callbacks c
      where c.endpoint_id = $1 and (c.request_id, c.sequence) > ($4::uuid, $5::int)
      order by c.request_id, c.sequence limit $6),
    -- Callbacks that are sent once more.
    resent as (
      update callbacks c
      ${again}
      from page p
      where c.endpoint_id = $1 and c.request_id = p.request_id and c.sequence = p.sequence
        and c.request_id = any(array(select request_id from page))
        and c.finished_at is not null and c.created_at >= $2 and (c.given_up or not $3)
      returning 1)
    select last.request_id as "requestId", last.sequence, (select count(*)::int from resent) as resent,
           (select count(*)::int from page where created_at >= $2 and finished_at is null) as waiting,
           (select count(*)::int from page
            where created_at >= $2 and finished_at is not null and $3 and not given_up) as delivered,
           (select count(*)::int from page where created_at < $2) as earlier,
           (select count(*) from page) = $6 as "isMore"
    from (select 1) one left join lateral (
      select request_id, sequence from page order by request_id desc, sequence desc limit 1) last on true`,
)

const pageSize = 2000

/** `waiting`: for a call anyway. `delivered`: not given up, if only such ones are sent. `earlier`: of changes before the time. */
const whyLeftOut = ['waiting', 'delivered', 'earlier'] as const

export interface ResentCallbacks {
  resent: number
  leftOut: Record<(typeof whyLeftOut)[number], number>
}

/**
 * Sends the callbacks of an endpoint since a time once more, by pages.
 *
 * @param runPage runs each page, within what its process has for it.
 * @returns how many, and how many were left out.
 */
export async function resendCallbacks(
  db: Database,
  { endpointId, since, onlyGivenUp }: { endpointId: string; since: Date; onlyGivenUp: boolean },
  runPage: RunPage = (page) => page(),
): Promise<ResentCallbacks> {
  const total: ResentCallbacks = { resent: 0, leftOut: { waiting: 0, delivered: 0, earlier: 0 } }
  for (let after: { requestId: string; sequence: number } = { requestId: NIL, sequence: -1 }; ; ) {
    const values = [endpointId, since, onlyGivenUp, after.requestId, after.sequence, pageSize]
    const [page] = await runPage(() => resendEndpointStatement(db, values))
    total.resent += page?.resent ?? 0
    for (const why of whyLeftOut) total.leftOut[why] += page?.[why] ?? 0
    if (!page?.isMore || page.requestId === null) return total
    after = { requestId: page.requestId, sequence: page.sequence }
  }
}

/** As `resendCallbacks`. @returns how many. */
export const resendOfEndpoint = async (...asked: Parameters<typeof resendCallbacks>): Promise<number> =>
  (await resendCallbacks(...asked)).resent
