import { settledAsFailed } from '../../src/core/sends/own-reasons.ts'
import { announceChange, columnsOfChange, theirEndpoints } from '../callbacks/new-callbacks.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { attemptInRow, claimIsLost } from '../delivery/attempt-in-row.ts'
import { namedParameters, prepared, sqlText } from '../statement.ts'
import { isCanceledInDoubt } from './doubt-rule.ts'
import { attemptsToEvents, endOf, eventOf } from './event-sql.ts'

/** A person's finding at the provider: it has the message, or it doesn't. */
export type SettledAs = 'sent' | 'failed'

export interface SettledSend {
  status: SettledAs
  /** Why it failed, as its timeline says. */
  reason: string | null
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: string[] | null
}

const settle = namedParameters({
  requestId: 'the send',
  status: 'its state from now on',
  reason: 'why, in the words of who settles it',
  failure: 'the reason of a failed one',
})
const given = settle.sql

/**
 * Only while it is uncertain: the lock of the row decides between this and a late outcome, a receipt or a replay. The attempt moves
 * to send_events. A failed one keeps its lost claim, so that a late success still makes it sent; a sent one doesn't, so that
 * nothing makes it sent twice. A canceled one stays canceled, so that no replay sends it.
 */
const settleStatement = prepared<SettledSend>(
  'settle_send',
  'Ends an uncertain send as a person found it at the provider.',
  sqlText`
    ${settle.comment}
    with
    -- The send, locked.
    found as materialized (
      select s.*, clock_timestamp() as settled_at,
             ${given.status}::text = 'failed' and ${claimIsLost} as keeps_claim,
             case when ${given.status}::text <> 'failed' then null
                  when ${isCanceledInDoubt} then s.failure
                  else ${given.failure}::text end as next_failure
      from sends s where s.request_id = ${given.requestId} and s.status = 'uncertain'
      for no key update),
    -- Its last attempt.
    attempted as (
      select s.request_id, s.settled_at,
             ${attemptInRow}
      from found s),
    -- The events of that attempt, and of what the person found.
    events as (
      ${attemptsToEvents(
        'attempted',
        endOf('a.ended_at'),
        eventOf('a.settled_at', 'settled', { as: `${given.status}::text`, reason: `${given.reason}::text` }),
      )}),
    -- Its next state, numbered. With a claim that isn't lost, the late outcome would count as recorded before.
    written as (
      update sends s set
        status = ${given.status}::text,
        finished_at = found.settled_at,
        failure = found.next_failure,
        claimed_at = case when found.keeps_claim then s.claimed_at end,
        claim_id = case when found.keeps_claim then s.claim_id end,
        attempt_record = null,
        change_number = s.change_number + 1,
        counted_as = case when s.counted_as is not null then
            counted_as(${given.status}::text, s.delivery, found.next_failure, null, null)
          else s.counted_as end
      from found
      where s.request_id = found.request_id
      returning
        s.request_id, s.status, s.failure,
        ${countedColumns('found.counted_as')},
        ${columnsOfChange()}),
    ${announceChange},
    ${countChanges}
    select status, failure as reason, ${theirEndpoints} from written`,
)

/** @returns undefined if there is no such send that is uncertain. */
export async function settleSend(
  db: Database | Transaction,
  requestId: string,
  as: SettledAs,
  reason: string,
): Promise<SettledSend | undefined> {
  const values = { requestId, status: as, reason, failure: settledAsFailed(reason) }
  const [settled] = await settleStatement(db, settle.valuesOf(values))
  return settled
}
