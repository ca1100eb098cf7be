import { messageOfCost } from '../counters/costs.ts'
import {
  anyReceipt,
  arrival,
  decidingReceipts,
  effectsOn,
  type ReceiptEffect,
  rankOf,
  receiptEvents,
} from '../receipts/receipt-rule.ts'
import { sqlText } from '../statement.ts'

/** The effects of receipts that were kept during a call, when its outcome is recorded. */
export interface AppliedReceipts {
  effects: ReceiptEffect[]
  /** Whether the send is sent because of them, whatever the outcome. */
  confirm: boolean
}

/**
 * SQL of CTEs from `attempted` to `ended`: sends whose attempts end, as decided by the outcome, and as the receipts decide that
 * came during the call.
 *
 * @param sentBy SQL of the kinds of receipts after which such a send `a` is sent; null if none can be about it.
 * @param messageId SQL of the message's id in the outcome.
 */
export const applyingReceipts = (sentBy: string, messageId: string) => sqlText`
  -- Each receipt that came during the call, with its send.
  received as materialized (
    select p.ord, p.receipt->>'kind' as kind, (p.receipt->'fields')::json as fields, p.receipt->>'key' as key,
           ${messageOfCost("p.receipt->'fields'->>'providerMessageId'", messageId, 's.attempts_before_replay::text')} as cost_message,
           s.request_id, s.ended_at as at, coalesce(s.receipt_keys, '{}') as known_keys,
           false as is_pending,
           s.status = 'sent' as was_sent, s.sent_by,
           ${rankOf("p.receipt->>'kind'")} as rank,
           0 as known_rank, ${messageId} as known_id
    from (
      select a.*,
             ${sentBy} as sent_by
      from attempted a) s
      cross join lateral jsonb_array_elements(s.pending_receipts) with ordinality p (receipt, ord)),
  ${decidingReceipts},
  ${receiptEvents}`

/** SQL of what the receipts changed, of a send that is written. */
export const appliedReceipts = (requestId: string, confirms: string) => sqlText`
  json_build_object(
    'confirm', ${confirms},
    'effects',
    ${effectsOn(requestId)})`

/**
 * SQL of the kinds of receipts after which a send is sent, whatever the outcome. Without a call, those of an earlier attempt count;
 * if there was none, no receipt can be about the send, which still has to be sent.
 */
export const sentByOutcome = sqlText`
  case when a.record->>'outcome' in ('sent', 'uncertain', 'retry_later')
            or a.record->>'outcome' = 'not_called' and a.attempt - 1 > a.attempts_before_replay
       then ${anyReceipt}
       when a.record->>'outcome' <> 'not_called' or a.attempt > 1
       then ${arrival} end`

/** SQL of the same for a lost attempt, which may have made the call or not. */
export const sentByLoss = `case when a."mayHaveCalled" then ${anyReceipt} end`
