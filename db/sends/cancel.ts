import { ownReasons } from '../../src/core/sends/own-reasons.ts'
import type { SendStatus } from '../../src/core/sends/timeline.ts'
import { scheduledColumnNames } from '../admission/new-send.ts'
import { announceChange, columnsOfChange, theirEndpoints } from '../callbacks/new-callbacks.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { claimIsLost } from '../delivery/attempt-in-row.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'
import { mayHaveGotThrough } from './doubt-rule.ts'

/** A send that a cancel has ended. */
export interface CanceledSend {
  requestId: string
  status: 'canceled' | 'uncertain'
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: string[] | null
}

/** The result of a cancel: the sends that it has ended, and the states of those that didn't wait. */
export interface CanceledSends {
  ended: CanceledSend[]
  others: { requestId: string; status: SendStatus }[]
}

const isOwn = '($2::uuid is null or account_id = $2)'

/** In the order of their ids, as outcomes and receipts lock sends. */
const lockStatement = prepared<{ requestId: string; status: SendStatus }>(
  'lock_to_cancel',
  'Locks sends that are to be canceled.',
  sqlText`
    select request_id as "requestId", status from sends
    where ${isGiven('request_id')} and ${isOwn}
    order by request_id
    for no key update`,
)

/** A lost claim stays in the row, so that its late outcome can still decide the send's state. Its events are stored already. */
const endStatement = prepared<CanceledSend>(
  'cancel_queued',
  'Ends queued sends that nobody wants any more, after lock_to_cancel.',
  sqlText`
    with
    -- How each ends.
    ended as (
      select s.request_id, s.counted_as,
             case when ${mayHaveGotThrough}
                  then 'uncertain' else 'canceled' end as status
      from sends s where ${isGiven('s.request_id')}),
    -- Their next states, numbered.
    written as (
      update sends s set
        status = ended.status,
        finished_at = clock_timestamp(),
        failure = case when ended.status = 'uncertain' then '${ownReasons.canceledInDoubt}' end,
        claimed_at = case when ended.status = 'uncertain' and ${claimIsLost}
                          then s.claimed_at end,
        change_number = s.change_number + 1,
        counted_as = case when s.counted_as is not null then
            counted_as(
              ended.status, s.delivery,
              case when ended.status = 'uncertain' then '${ownReasons.canceledInDoubt}' end,
              s.attempt_record, null)
          else s.counted_as end
      from ended
      where s.request_id = ended.request_id and ${isGiven('s.request_id')} and s.status = 'queued'
      returning
        s.request_id, s.status,
        ${countedColumns('ended.counted_as')},
        ${columnsOfChange()}),
    ${announceChange},
    ${countChanges}
    select request_id as "requestId", status, ${theirEndpoints} from written`,
)

const cancelScheduledStatement = prepared<CanceledSend>(
  'cancel_scheduled',
  'Ends scheduled sends that nobody wants any more.',
  sqlText`
    with
    -- The scheduled sends, which leave their table.
    taken as (
      delete from scheduled_sends
      where ${isGiven('request_id')} and ${isOwn}
      returning *),
    -- Their states, numbered. A trigger counts them.
    written as (
      insert into sends as s (
        ${scheduledColumnNames},
        accepted_at, status, finished_at, change_number)
      select
        ${scheduledColumnNames},
        accepted_at, 'canceled', clock_timestamp(), 1
      from taken
      returning
        s.request_id, s.status,
        ${columnsOfChange()}),
    ${announceChange}
    select request_id as "requestId", status, ${theirEndpoints} from written`,
)

/** More often than a send can move between two looks. */
const maxLooks = 3

/**
 * Ends sends that haven't begun their next attempt: `canceled`, or `uncertain` if an earlier attempt may have got through. The lock
 * of each row decides between this and a claim, so that no worker calls the provider after this has committed.
 *
 * @param accountId undefined for an operator, who may cancel any.
 * @returns nothing about a send that doesn't exist.
 */
export async function cancelSends(
  db: Database | Transaction,
  requestIds: readonly string[],
  accountId?: string,
): Promise<CanceledSends> {
  const found: CanceledSends = { ended: [], others: [] }
  let left = requestIds
  const note = (ended: CanceledSend[], others: CanceledSends['others'] = []) => {
    found.ended.push(...ended)
    found.others.push(...others)
    const known = new Set([...ended, ...others].map(({ requestId }) => requestId))
    left = left.filter((requestId) => !known.has(requestId))
  }
  for (let look = 0; look < maxLooks && left.length > 0; look++) {
    const { ended, others } = await inTransaction(db, (transaction) => cancelIn(transaction, left, accountId))
    note(ended, others)
    // Sends that are still left may have moved between the two statements.
    if (left.length > 0) note(await cancelScheduledStatement(db, [left, accountId]))
  }
  return found
}

/** The result of a cancel of one send: whether it was this one that ended the send, and the send's state after it. */
export type Canceled = ({ isNew: true } & CanceledSend) | { isNew: false; status: SendStatus }

/** Cancels one send, as `cancelSends` does. @returns undefined if there is no such send. */
export async function cancelSend(
  db: Database | Transaction,
  requestId: string,
  accountId?: string,
): Promise<Canceled | undefined> {
  const { ended, others } = await cancelSends(db, [requestId], accountId)
  if (ended[0]) return { isNew: true, ...ended[0] }
  return others[0] && { isNew: false, status: others[0].status }
}

/** The second statement sees everything that the transactions wrote for which the first one waited. */
async function cancelIn(
  transaction: Transaction,
  requestIds: readonly string[],
  accountId: string | undefined,
): Promise<CanceledSends> {
  const locked = await lockStatement(transaction, [requestIds, accountId])
  const others = locked.filter(({ status }) => status !== 'queued')
  const queued = locked.filter(({ status }) => status === 'queued').map(({ requestId }) => requestId)
  return { ended: queued.length > 0 ? await endStatement(transaction, [queued]) : [], others }
}
