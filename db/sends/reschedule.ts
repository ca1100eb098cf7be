import type { SendRecord } from '../../src/core/sends/timeline.ts'
import { type Database, inTransaction } from '../connection/client.ts'
import { isoText, prepared, sqlText } from '../statement.ts'
import { recordOfScheduled } from './both-tables.ts'
import { eventOf } from './event-sql.ts'

/** A send that is being moved to the others is gone when its lock is free. */
const lockStatement = prepared<{ isFound: true }>(
  'lock_to_reschedule',
  'Locks a scheduled send that is not yet due.',
  sqlText`
    -- $1: the send; $2: its account.
    select true as "isFound" from scheduled_sends
    where request_id = $1 and account_id = $2 and send_at > clock_timestamp()
    for update`,
)

/** The event of its accept is derived from its row as long as no other is stored (`accept` in src/core/sends/timeline.ts). */
const rescheduleStatement = prepared<SendRecord>(
  'reschedule_send',
  'Gives a scheduled send another time, after lock_to_reschedule.',
  sqlText`
    with
    -- As it was.
    former as materialized (
      select * from scheduled_sends where request_id = $1),
    -- As it is now.
    s as (
      update scheduled_sends set send_at = $2 where request_id = $1
      returning *),
    -- The event of its accept, unless it was moved before, and that of now.
    events as (
      insert into send_events (request_id, at, event, fields)
      select f.request_id, ${eventOf('f.accepted_at', 'scheduled', { sendAt: isoText('f.send_at') })}
      from former f
      where not exists (select from send_events e where e.request_id = f.request_id and e.event = 'scheduled')
      union all
      select s.request_id, ${eventOf('clock_timestamp()', 'scheduled', { sendAt: isoText('s.send_at') })}
      from s)
    select ${recordOfScheduled} from s`,
)

/**
 * Moves a scheduled send to another time. The lock of its row decides between this, a cancel and the worker that finds it due: the
 * second statement sees what the others wrote for which the first one waited.
 *
 * @returns undefined if the account has no such send, or it is due.
 */
export async function rescheduleSend(
  db: Database,
  { requestId, accountId, sendAt }: { requestId: string; accountId: string; sendAt: Date },
): Promise<SendRecord | undefined> {
  return await inTransaction(db, async (transaction) => {
    const [locked] = await lockStatement(transaction, [requestId, accountId])
    return locked && (await rescheduleStatement(transaction, [requestId, sendAt]))[0]
  })
}
