import type { SendRecord } from '../../src/core/sends/timeline.ts'
import { postedChannel, sentThrough } from '../accounts/posted-channel.ts'
import { sqlList, sqlText } from '../statement.ts'

/** SQL of the fields of the event that reported a send `s` as undelivered; null unless that is its delivery state. */
const undelivered = sqlText`
  case when s.delivery = 'undelivered' then
    (select e.fields from send_events e
     where e.request_id = s.request_id and e.event = 'undelivered'
     order by e.at desc limit 1) end`

/** SQL of the code that the timeline of a row `s` of `sends` has (`causeOf` in src/core/sends/timeline.ts). */
export const providerCodeOfSend = sqlText`
  coalesce(
    ${undelivered},
    s.attempt_record)->>'providerCode'`

/** SQL of the code by which a row `s` of `sends` that went wrong is counted (`counted_as` in migration 0026). */
export const countedCodeOfSend = sqlText`
  left(
    case when s.delivery = 'undelivered' then ${undelivered}->>'providerCode'
         else coalesce(s.attempt_record->>'providerCode', s.attempt_record->>'providerStatus') end, 64)`

/** The filter by code that finds the failures without one. */
export const withoutCode = 'none'

/** SQL that is true for a row `s` of `sends` that went wrong and is counted without a code. */
export const isWithoutCode = `s.counted_as ~ '^[^/]+/[^/]*/$'`

/** SQL of whose fault it was that a row `s` of `sends` went wrong, or of what ended it without a call, as it is counted. */
export const faultOfSend = `split_part(s.counted_as, '/', 2)`

/** SQL of the reason that the timeline of a row `s` of `sends` has. */
export const reasonOfSend = sqlText`
  case when s.delivery = 'undelivered' then ${undelivered}->>'reason' else s.failure end`

/** The columns of a `SendRecord`: of a row `s` of `sends`, and of one of `scheduled_sends`, if that lacks the column. */
const columns: Record<keyof SendRecord, [ofSend: string, ofScheduled?: string]> = {
  requestId: ['s.request_id'],
  status: ['s.status', `'queued'`],
  channelId: [postedChannel, 's.channel_id'],
  contactType: ['s.contact_type'],
  contactValue: ['s.contact_value'],
  contactName: ['s.contact_name'],
  messageType: ['s.message_type'],
  flowId: ['s.flow_id'],
  conversationId: ['s.conversation_id', 'null'],
  acceptedAt: ['s.accepted_at'],
  finishedAt: ['s.finished_at', 'null'],
  attempt: ['s.attempt', '0'],
  worker: ['s.worker', 'null'],
  claimedAt: ['s.claimed_at', 'null'],
  attemptRecord: ['s.attempt_record', 'null'],
  providerMessageId: ['s.provider_message_id', 'null'],
  failure: ['s.failure', 'null'],
  delivery: ['s.delivery', 'null'],
  deliveryAt: ['s.delivery_at', 'null'],
  undelivered: [undelivered, 'null'],
  sendAt: ['s.send_at'],
  nextAttemptAt: [
    sqlText`
      case when s.status = 'queued' and s.next_attempt_at > clock_timestamp()
           then s.next_attempt_at end`,
    's.send_at',
  ],
  priority: ['s.priority'],
  reference: ['s.reference'],
  expiresInSeconds: ['s.expires_in_seconds'],
  metadata: ['s.metadata'],
  segments: ['s.segments'],
  encoding: ['s.encoding'],
  sentThrough: [sentThrough, 'null'],
}

export const recordFields = Object.keys(columns)
const named = Object.entries(columns)

/** SQL of the columns of a `SendRecord`, from a row `s` of `sends`. */
export const recordOfSend = sqlList(named.map(([name, [ofSend]]) => `${ofSend} as "${name}"`))

/** SQL of the columns of a `SendRecord`, from a row `s` of `scheduled_sends`. In a `union all` after `recordOfSend`, it takes its types from there. */
export const recordOfScheduled = sqlList(
  named.map(([name, [ofSend, ofScheduled = ofSend]]) => `${ofScheduled} as "${name}"`),
)

/** SQL of the records that meet a condition on a row `s` of either table. One statement, since a send moves from one to the other. */
export const recordsWhere = (condition: string) => sqlText`
  select ${recordOfSend}
  from sends s where ${condition}
  union all
  select ${recordOfScheduled}
  from scheduled_sends s where ${condition}`
