import { ownReasons } from '../../src/core/own-reasons.ts'
import type { SendStatus } from '../../src/core/timeline.ts'
import { scheduledColumnNames } from '../admission/new-send.ts'
import {
  callbackColumns,
  endpointsToWake,
  insertCallbacks,
  typeByStatus,
} from '../callbacks/new-callbacks.ts'
import { type Database, inTransaction, type Transaction } from '../client.ts'
import { claimIsLost } from '../delivery/lost-claims.ts'
import { prepared, sqlText } from '../statement.ts'

/** What a cancel found: the send's state after it, and whether it was this one that ended the send. */
export interface Canceled {
  status: SendStatus
  isNew: boolean
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: string[] | null
}

type Ended = Omit<Canceled, 'isNew'>

const isOwn = '($2::uuid is null or account_id = $2)'

const lockStatement = prepared<{ status: SendStatus }>(
  'lock_to_cancel',
  'Locks a send that is to be canceled.',
  sqlText`
    select status from sends
    where request_id = $1 and ${isOwn}
    for no key update`,
)

/** SQL that is true for a send `s` that the provider may have, like `mayHaveGotThrough` in src/core/explanation/condition.ts. */
const mayHaveGotThrough = sqlText`
  exists (
    select from send_events e
    where e.request_id = s.request_id
      and (e.event = 'attempt_lost' and e.fields->>'outcome' is distinct from 'not_called'
           or e.event = 'attempt_finished' and e.fields->>'outcome' in ('uncertain', 'sent'))
      and not exists (
        select from send_events later
        where later.request_id = e.request_id and later.id > e.id and later.event = 'attempt_finished'
          and later.fields->>'attempt' = e.fields->>'attempt'
          and later.fields->>'outcome' not in ('uncertain', 'sent')))`

/** A lost claim stays in the row, so that its late outcome can settle the send. Its events are stored already. */
const endStatement = prepared<Ended>(
  'cancel_queued',
  'Ends a queued send that nobody wants any more, after lock_to_cancel.',
  sqlText`
    with
    -- The send's end.
    ended as (
      update sends s
      set status = end_as.status, finished_at = clock_timestamp(), change_number = s.change_number + 1,
          failure = case when end_as.status = 'uncertain' then '${ownReasons.canceledInDoubt}' end,
          claimed_at = case when end_as.status = 'uncertain' and ${claimIsLost}
                            then s.claimed_at end
      from (select case when ${mayHaveGotThrough} then 'uncertain' else 'canceled' end as status
            from sends s where s.request_id = $1) end_as
      where s.request_id = $1 and s.status = 'queued'
      returning s.request_id, s.status,
                ${callbackColumns({ type: typeByStatus() })}),
    -- The callbacks.
    announced as (
      ${insertCallbacks('ended')})
    select status, ${endpointsToWake('endpoint_ids')} from ended`,
)

const cancelScheduledStatement = prepared<Ended>(
  'cancel_scheduled',
  'Ends a scheduled send that nobody wants any more.',
  sqlText`
    with
    taken as (
      delete from scheduled_sends
      where request_id = $1 and ${isOwn}
      returning *),
    ended as (
      insert into sends (
        ${scheduledColumnNames}, accepted_at, status, finished_at, change_number)
      select
        ${scheduledColumnNames}, accepted_at, 'canceled', clock_timestamp(), 1
      from taken
      returning request_id, status,
                ${callbackColumns({ type: typeByStatus('sends') }, 'sends')}),
    -- The callbacks.
    announced as (
      ${insertCallbacks('ended')})
    select status, ${endpointsToWake('endpoint_ids')} from ended`,
)

/** More often than a send can move between two looks. */
const maxLooks = 3

/**
 * Ends a send that hasn't begun its next attempt: `canceled`, or `uncertain` if an earlier attempt may have got through. Its row's
 * lock decides between this and a claim, so that no worker calls the provider after this has committed.
 *
 * @param accountId undefined for an operator, who may cancel any.
 * @returns undefined if there is no such send.
 */
export async function cancelSend(
  db: Database,
  requestId: string,
  accountId?: string,
): Promise<Canceled | undefined> {
  for (let look = 0; look < maxLooks; look++) {
    const found = await inTransaction(db, (transaction) => cancelIn(transaction, requestId, accountId))
    if (found) return found
    const [scheduled] = await cancelScheduledStatement(db, [requestId, accountId])
    if (scheduled) return { ...scheduled, isNew: true }
    // It may have moved between the two statements.
  }
  return undefined
}

/** The second statement sees everything that the transactions wrote for which the first one waited. */
async function cancelIn(
  transaction: Transaction,
  requestId: string,
  accountId: string | undefined,
): Promise<Canceled | undefined> {
  const [send] = await lockStatement(transaction, [requestId, accountId])
  if (send?.status !== 'queued') return send && { status: send.status, isNew: false, endpointsToWake: null }
  const [ended] = await endStatement(transaction, [requestId])
  return { status: send.status, endpointsToWake: null, ...ended, isNew: true }
}
