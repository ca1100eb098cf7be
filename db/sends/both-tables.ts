import type { SendRecord } from '../../src/core/timeline.ts'
import { sqlList, sqlText } from '../statement.ts'

/** The columns of a `SendRecord`: of a row `s` of `sends`, and of one of `scheduled_sends`, if that lacks the column. */
const columns: Record<keyof SendRecord, [ofSend: string, ofScheduled?: string]> = {
  requestId: ['s.request_id'],
  status: ['s.status', `'queued'`],
  channelId: ['s.channel_id'],
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
  sendAt: ['s.send_at'],
  reference: ['s.reference'],
}

const named = Object.entries(columns)

/** SQL of the columns of a `SendRecord`, from a row `s` of `sends`. */
export const recordOfSend = sqlList(named.map(([name, [ofSend]]) => `${ofSend} as "${name}"`))

/** The same from a row `s` of `scheduled_sends`; for a `union all` after `recordOfSend`, from which it takes its names and types. */
export const recordOfScheduled = sqlList(named.map(([, [ofSend, ofScheduled = ofSend]]) => ofScheduled))

/** SQL of the records that meet a condition on a row `s` of either table. One statement, since a send moves from one to the other. */
export const recordsWhere = (condition: string) => sqlText`
  select ${recordOfSend}
  from sends s where ${condition}
  union all
  select ${recordOfScheduled}
  from scheduled_sends s where ${condition}`
