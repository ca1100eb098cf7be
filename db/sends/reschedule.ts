import type { Contact } from '../../src/core/contacts/contact.ts'
import type { Message } from '../../src/core/messages/message.ts'
import type { SmsSize } from '../../src/core/messages/segments.ts'
import type { SendRecord } from '../../src/core/sends/timeline.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { countResized } from '../counters/counted-as.ts'
import { isoText, prepared, sqlText } from '../statement.ts'
import { recordOfScheduled } from './both-tables.ts'
import { eventOf, fieldsOf } from './event-sql.ts'

const isOwn = '($2::uuid is null or account_id = $2)'

/** A send that is being moved to the others is gone when its lock is free. */
const lockStatement = prepared<{ isFound: true }>(
  'lock_to_reschedule',
  'Locks a scheduled send that is not yet due.',
  sqlText`
    -- $1: the send; $2: its account, null for any.
    select true as "isFound" from scheduled_sends
    where request_id = $1 and ${isOwn} and send_at > clock_timestamp()
    for update`,
)

export type Scheduled = SendRecord & { sendAt: Date }

const sendAt = isoText('s.send_at')
const isContactChanged = sqlText`
  (s.contact_type, s.contact_value, s.contact_name)
    is distinct from (former.contact_type, former.contact_value, former.contact_name)`

/** The event of its accept is derived from its row as long as no other is stored (`accept` in src/core/sends/timeline.ts). */
const rescheduleStatement = prepared<Scheduled>(
  'reschedule_send',
  'Gives a scheduled send another time or contact, after lock_to_reschedule.',
  sqlText`
    -- $1: the send; $2: its time, null for the same; $3: the type of its contact, null for the same one; $4: its value;
    -- $5: its name; $6: the segments and $7: the encoding of its SMS, which only another type of contact changes.
    with
    -- As it was.
    former as materialized (
      select * from scheduled_sends where request_id = $1),
    -- As it is now.
    s as (
      update scheduled_sends set
        send_at = coalesce($2, send_at),
        contact_type = coalesce($3, contact_type),
        contact_value = coalesce($4, contact_value),
        contact_name = case when $3::text is null then contact_name else $5 end,
        segments = case when $3 <> contact_type then $6 else segments end,
        encoding = case when $3 <> contact_type then $7 else encoding end
      where request_id = $1
      returning *),
    -- The event of its accept, unless it was moved before, and that of now.
    events as (
      insert into send_events (request_id, at, event, fields)
      select f.request_id, ${eventOf('f.accepted_at', 'scheduled', { sendAt: isoText('f.send_at') })}
      from former f
      where not exists (select from send_events e where e.request_id = f.request_id and e.event = 'scheduled')
      union all
      select s.request_id, ${eventOf(
        'clock_timestamp()',
        'scheduled',
        sqlText`
          case when ${isContactChanged}
               then ${fieldsOf('scheduled', { sendAt, contactChanged: 'true' })}
               else ${fieldsOf('scheduled', { sendAt })} end`,
      )}
      from s join former using (request_id)),
    ${countResized('former', 's')}
    select ${recordOfScheduled} from s`,
)

/** The changes of a move. */
export interface Move {
  requestId: string
  /** The account whose send it has to be; any, if it is an operator's or support's move. */
  accountId?: string | undefined
  sendAt?: Date | undefined
  contact?: Contact | undefined
  /** What the message takes as SMS to that contact; none if it doesn't go as SMS. */
  sms?: SmsSize | undefined
}

/**
 * Moves a scheduled send to another time, or to another contact. The lock of its row decides between this, a cancel and the worker that finds it due: the
 * second statement sees what the others wrote for which the first one waited.
 *
 * @returns undefined if the account has no such send, or it is due.
 */
export async function rescheduleSend(
  db: Database | Transaction,
  { requestId, accountId, sendAt, contact, sms }: Move,
): Promise<Scheduled | undefined> {
  return await inTransaction(db, async (transaction) => {
    const [locked] = await lockStatement(transaction, [requestId, accountId ?? null])
    if (!locked) return undefined
    const { type = null, value = null, name = null } = contact ?? {}
    const { segments = null, encoding = null } = sms ?? {}
    const values = [requestId, sendAt ?? null, type, value, name, segments, encoding]
    return (await rescheduleStatement(transaction, values))[0]
  })
}

/** The parts of a scheduled send that a new contact has to suit. */
export interface ScheduledContent {
  channelId: string
  provider: string
  countries: string[] | null
  message: Message
}

const contentStatement = prepared<ScheduledContent>(
  'content_of_scheduled',
  'Reads channel and message of a scheduled send.',
  sqlText`
    -- $1: the send; $2: its account, null for any.
    select s.channel_id as "channelId", c.provider, c.countries, s.message
    from scheduled_sends s join channels c on c.id = s.channel_id
    where s.request_id = $1 and ($2::uuid is null or s.account_id = $2)`,
)

/** @returns undefined if the account has no such send, or it is no longer scheduled. */
export async function findScheduledContent(
  db: Database,
  requestId: string,
  accountId?: string,
): Promise<ScheduledContent | undefined> {
  return (await contentStatement(db, [requestId, accountId ?? null]))[0]
}
