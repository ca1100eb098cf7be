import type { AttemptRecord } from '../../src/core/sends/timeline.ts'
import { announceChange, columnsOfChange, theirEndpoints } from '../callbacks/new-callbacks.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { costColumns, costOfAnswer, countCosts, messageOfCost, setCosts } from '../counters/costs.ts'
import { countChanges, countedColumns } from '../counters/counted-as.ts'
import { keepMessageIds } from '../receipts/message-ids.ts'
import { isCanceledInDoubt } from '../sends/doubt-rule.ts'
import { attemptsToEvents, endOf } from '../sends/event-sql.ts'
import { namedParameters, prepared, sqlText } from '../statement.ts'
import { isErased, redactedFields } from '../upkeep/erase.ts'
import { claimIsLost, lossInRow, startInRow } from './attempt-in-row.ts'

/** The outcome of an attempt whose claim was given up meanwhile. */
export interface LateOutcome {
  requestId: string
  channelId: string
  claimId: string
  record: AttemptRecord
  /** The new state of an uncertain send; undefined if the late outcome is uncertain too. */
  verdict: { status: 'sent' } | { status: 'failed'; reason: string } | undefined
  /** Whether receipts find it by the provider's id of its message. */
  isFoundById?: boolean
}

const late = namedParameters({
  requestId: 'the send',
  channelId: 'the channel of the attempt',
  claimId: 'the claim of the attempt',
  record: 'the outcome',
  messageId: "the provider's id of the message",
  status: "the send's new state; null if the late outcome is uncertain too",
  reason: 'why it failed',
  isFoundById: "whether receipts find it by the provider's id of its message",
})
const given = late.sql

/**
 * An uncertain send takes the late verdict. A send that waits for its next attempt, or was given up, takes only a success, which
 * makes further attempts unnecessary. Any other send, such as one that another attempt has ended, stays unchanged; the late attempt
 * is recorded in its timeline. An outcome that was recorded before, but whose answer was lost, is found again. For an erased
 * send, only redacted fields are recorded.
 */
const lateStatement = prepared<SettledLate>(
  'record_late_outcome',
  'Records the outcome of an attempt whose claim was given up.',
  sqlText`
    ${late.comment}
    with
    -- The send, locked, with the outcome as it may be recorded, and what becomes of it.
    found as (
      select *, clock_timestamp() as ended_at,
             case when ${isErased} then
               ${redactedFields(`${given.record}::json`)}
             else ${given.record}::json end as record,
             case when not ${isErased} then ${given.messageId} end as message_id,
             -- A canceled send stays canceled, so that no replay sends it.
             case when ${isCanceledInDoubt} and ${given.status} = 'failed' then failure
                  when not ${isErased} then ${given.reason} end as reason,
             case when status <> 'queued' then
               ${startInRow} end as started_at,
             ${costOfAnswer(`${given.record}::json`, messageOfCost(given.messageId, 'attempts_before_replay::text'))},
             claim_id = ${given.claimId} and attempt_record is not null as is_recorded,
             ${given.status}::text is not null and claim_id = ${given.claimId} and ${claimIsLost} and
               (status = 'uncertain' or ${given.status} = 'sent') as is_settled
      from sends s where request_id = ${given.requestId} for no key update),
    -- An event of this outcome that was recorded before.
    same_event as (
      select from send_events e join found s using (request_id)
      where e.event = 'attempt_finished' and e.fields::jsonb - 'late' = s.record::jsonb - 'late'),
    -- The message, by whose id receipts find the send.
    late_message as (
      select request_id, ${given.channelId}::uuid as channel_id, ${given.messageId}::text as message_id
      from found where ${given.isFoundById}::boolean),
    -- Messages that the sandbox stored for an erased send meanwhile.
    erased_messages as (
      delete from sandbox_messages m using found s where m.request_id = s.request_id and ${isErased}),
    -- Its next state, numbered.
    written as (
      update sends s set
        status = ${given.status},
        attempt_record = found.record,
        finished_at = found.ended_at,
        provider_message_id = found.message_id,
        failure = found.reason,
        claimed_at = found.started_at,
        change_number = s.change_number + 1,
        ${setCosts('found', 'found')},
        counted_as = case when s.counted_as is not null then
            counted_as(${given.status}, s.delivery, found.reason, found.record, null)
          else s.counted_as end
      from found
      where s.request_id = found.request_id and found.is_settled
      returning
        s.request_id, s.status,
        ${countedColumns('found.counted_as')},
        ${costColumns('found')},
        ${columnsOfChange({ providerCode: "found.record->>'providerCode'" })}),
    ${announceChange},
    ${countChanges},
    ${countCosts},
    ${keepMessageIds('late_message')},
    -- The attempt that was in the row until now, if the outcome replaces it; otherwise the outcome, which isn't in the row.
    moved as (
      select request_id, attempt, worker, null::timestamptz as claimed_at, finished_at as ended_at, null::json as record,
             ${lossInRow} as loss,
             status, failure, finished_at as over_at
      from found s where is_settled and status <> 'queued'
      union all
      select request_id, attempt, worker, null, ended_at, record, null, null, null, null
      from found s where not is_settled and not is_recorded and not exists (select from same_event)),
    -- Its event.
    events as (
      ${attemptsToEvents('moved', endOf('a.over_at'))})
    select status, true as "isEnded", ${theirEndpoints} from written
    union all
    -- An outcome that was recorded before, or the refusal of an attempt that another one has followed.
    select status, is_recorded, null from found
    where is_recorded
       or not is_settled and (status = 'failed' or status = 'sent' and delivery = 'undelivered')
          and channel_id = ${given.channelId} and ${given.status} = 'failed' and not exists (select from same_event)`,
)

/** The state of a send that a late outcome has ended, or that was over, and not delivered, before an earlier attempt of it was refused late. */
export interface SettledLate {
  status: 'sent' | 'failed'
  /** Whether this outcome ended it. */
  isEnded: boolean
  /** The endpoints that get a callback about it, and may be called now. */
  endpointsToWake: string[] | null
}

/**
 * @returns the state that the outcome gave the send, also if an earlier try gave it; that of one that is over, if a refusal may have
 *   cleared its last doubt; undefined if nothing follows.
 */
export async function recordLateOutcome(
  db: Database | Transaction,
  { requestId, channelId, claimId, record, verdict, isFoundById = false }: LateOutcome,
): Promise<SettledLate | undefined> {
  const values = late.valuesOf({
    requestId,
    channelId,
    claimId,
    record: JSON.stringify(record),
    messageId: record.providerMessageId,
    status: verdict?.status ?? null,
    reason: verdict?.status === 'failed' ? verdict.reason : null,
    isFoundById,
  })
  const [row] = await lateStatement(db, values)
  return row
}
