import { ownReasons } from '../../src/core/own-reasons.ts'
import type { SendStatus } from '../../src/core/timeline.ts'
import { scheduledColumnNames } from '../admission/new-send.ts'
import { oneChange } from '../callbacks/new-callbacks.ts'
import { type Database, inTransaction, type Transaction } from '../client.ts'
import { claimIsLost } from '../delivery/attempt-in-row.ts'
import { changeState, insertInState, theirEndpoints } from '../delivery/change-state.ts'
import { prepared, sqlText } from '../statement.ts'

/** A send that a cancel has ended. */
interface Ended {
  status: 'canceled' | 'uncertain'
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: string[] | null
}

/** What a cancel found: whether it was this one that ended the send, and the send's state after it. */
export type Canceled = ({ isNew: true } & Ended) | { isNew: false; status: SendStatus }

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
    -- How it ends.
    ended as (
      select case when ${mayHaveGotThrough}
                  then 'uncertain' else 'canceled' end as status
      from sends s where s.request_id = $1),
    ${changeState({
      set: {
        status: 'ended.status',
        finishedAt: 'clock_timestamp()',
        failure: `case when ended.status = 'uncertain' then '${ownReasons.canceledInDoubt}' end`,
        claimedAt: sqlText`
          case when ended.status = 'uncertain' and ${claimIsLost}
               then s.claimed_at end`,
      },
      from: 'ended',
      where: "s.request_id = $1 and s.status = 'queued'",
      changes: oneChange(),
    })}
    select status, ${theirEndpoints} from written`,
)

const cancelScheduledStatement = prepared<Ended>(
  'cancel_scheduled',
  'Ends a scheduled send that nobody wants any more.',
  sqlText`
    with
    -- The scheduled send, which leaves its table.
    taken as (
      delete from scheduled_sends
      where request_id = $1 and ${isOwn}
      returning *),
    ${insertInState(
      `${scheduledColumnNames}, accepted_at, status, finished_at`,
      `${scheduledColumnNames}, accepted_at, 'canceled', clock_timestamp()`,
      'taken',
      oneChange(),
    )}
    select status, ${theirEndpoints} from written`,
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
    if (scheduled) return { isNew: true, ...scheduled }
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
  if (send?.status !== 'queued') return send && { isNew: false, status: send.status }
  const [ended] = await endStatement(transaction, [requestId])
  return ended && { isNew: true, ...ended }
}
