import type { OnUncertain } from '../src/core/outcome.ts'
import type { AttemptRecord } from '../src/core/timeline.ts'
import type { Database } from './client.ts'
import { prepared } from './statement.ts'

/** SQL that is true of a send `s` whose claim was given up, with no outcome recorded since. */
export const claimIsLost = '(s.claimed_at is not null and s.attempt_record is null)'

/** How long a claim may last whose worker isn't known: workers that live are. */
const unknownWorkersMinutes = 1

const workerIsDead = `(
  w.alive_until < clock_timestamp() or
  (w.name is null and s.claimed_at < clock_timestamp() - interval '${unknownWorkersMinutes} minutes'))`

/** A send in `sending` whose worker is dead: its provider may have been called or not. */
export interface LostClaim {
  requestId: string
  claimId: string
  attempt: number
  attemptsBeforeReplay: number
  /** How often before it has lost its worker, since it was last replayed. */
  losses: number
  worker: string
  onUncertain: OnUncertain
}

const findStatement = prepared<LostClaim>(
  'find_lost_claims',
  `select s.request_id as "requestId", s.claim_id as "claimId", s.attempt,
          s.attempts_before_replay as "attemptsBeforeReplay", s.losses, s.worker,
          channels.on_uncertain as "onUncertain"
   from sends s join channels on channels.id = s.channel_id left join workers w on w.name = s.worker
   where s.finished_at is null and s.status = 'sending' and ${workerIsDead}
   limit $1`,
)

export function findLostClaims(db: Database, limit: number): Promise<LostClaim[]> {
  return findStatement(db, [limit])
}

/** What becomes of a send whose claim is given up. */
export interface GivenUp {
  requestId: string
  claimId: string
  status: 'uncertain' | 'failed' | 'queued'
  reason: string
  /** Until the next attempt; only where the status is `queued`. */
  delayMs: number | undefined
}

/** The claim stays on the row, marked by `claimIsLost`, so that a late outcome finds what it belongs to. */
const giveUpStatement = prepared<{ requestId: string; nextAttemptAt: Date | null }>(
  'give_up_claims',
  `with given_up as materialized (
     select * from json_to_recordset($1) as
       ("requestId" uuid, "claimId" uuid, status text, reason text, "delayMs" float8)),
   lost as materialized (
     select s.request_id, s.attempt, s.worker, s.claimed_at, clock_timestamp() as lost_at
     from sends s join given_up g on g."requestId" = s.request_id left join workers w on w.name = s.worker
     where s.status = 'sending' and s.claim_id = g."claimId" and ${workerIsDead}
     order by s.request_id for no key update of s),
   written as (
     update sends s
     set status = g.status, losses = s.losses + 1,
         finished_at = case when g.status <> 'queued' then lost.lost_at end,
         next_attempt_at = case when g.status = 'queued' then lost.lost_at + g."delayMs" * interval '1 ms'
                                else s.next_attempt_at end,
         failure = case when g.status <> 'queued' then g.reason end
     from lost join given_up g on g."requestId" = lost.request_id
     where s.request_id = lost.request_id
     returning s.request_id, s.status, s.next_attempt_at),
   told as (
     insert into send_events (request_id, at, event, fields)
     select lost.request_id, story.at, story.event, story.fields
     from lost join given_up g on g."requestId" = lost.request_id join written w on w.request_id = lost.request_id
     cross join lateral (values
       (1, lost.claimed_at, 'attempt_started', json_build_object('attempt', lost.attempt, 'worker', lost.worker)),
       (2, lost.lost_at, 'attempt_lost', json_build_object('attempt', lost.attempt, 'reason', g.reason)),
       (3, lost.lost_at, 'retry_scheduled', json_build_object('reason', g.reason, 'nextAttemptAt', to_char(w.next_attempt_at at time zone 'utc', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')))
     ) as story (place, at, event, fields)
     where g.status = 'queued'
     order by lost.request_id, story.place)
   select request_id as "requestId", case when status = 'queued' then next_attempt_at end as "nextAttemptAt"
   from written`,
)

/** Ends lost claims. Those that another sweep has ended, or whose worker lives after all, are missing from the answer. */
export function giveUpClaims(db: Database, claims: readonly GivenUp[]) {
  return giveUpStatement(db, [JSON.stringify(claims)])
}

/** The outcome of an attempt whose claim was given up meanwhile. */
export interface LateOutcome {
  requestId: string
  claimId: string
  record: AttemptRecord
  /** What it makes of a send that is uncertain; undefined where it doesn't know either. */
  verdict: { status: 'sent' } | { status: 'failed'; reason: string } | undefined
}

/**
 * An uncertain send takes the late verdict over. One that waits for its next attempt, or is parked, takes only a
 * success, which spares it further attempts. Any other send, say one that a further attempt has ended, has the late
 * attempt told in its timeline and stays as it is. What is recorded already, its answer lost, is found again.
 */
const lateStatement = prepared<{ status: 'sent' | 'failed' }>(
  'record_late_outcome',
  `with s as (
     select *, clock_timestamp() as ended_at,
            claim_id = $2 and attempt_record is not null as is_recorded,
            $5::text is not null and claim_id = $2 and ${claimIsLost} and
              (status = 'uncertain' or $5 = 'sent') as is_settled,
            exists (select from send_events e
                    where e.request_id = $1 and e.event = 'attempt_finished'
                      and (e.fields->>'attempt')::int = ($3::json->>'attempt')::int) as is_told
     from sends s where request_id = $1 for no key update),
   written as (
     update sends
     set status = $5, failure = $6, attempt_record = $3, finished_at = s.ended_at, provider_message_id = $4,
         claimed_at = case when s.status <> 'queued' then s.claimed_at end
     from s where sends.request_id = s.request_id and s.is_settled
     returning sends.status),
   told as (
     insert into send_events (request_id, at, event, fields)
     select s.request_id, story.at, story.event, story.fields
     from s cross join lateral (values
       (1, s.is_settled and s.status <> 'queued', s.finished_at, 'attempt_lost',
        json_build_object('attempt', s.attempt, 'reason', s.failure)),
       (2, s.is_settled and s.status <> 'queued', s.finished_at, s.status, json_build_object('reason', s.failure)),
       (3, not s.is_settled and not s.is_recorded and not s.is_told, s.ended_at, 'attempt_finished', $3::json)
     ) as story (place, is_told, at, event, fields)
     where story.is_told
     order by story.place)
   select status from written
   union all
   select status from s where is_recorded`,
)

/** @returns what the send has become by it; undefined where it stays as it is. */
export async function recordLateOutcome(
  db: Database,
  late: LateOutcome,
): Promise<'sent' | 'failed' | undefined> {
  const { requestId, claimId, record, verdict } = late
  const reason = verdict?.status === 'failed' ? verdict.reason : null
  const [row] = await lateStatement(db, [
    requestId,
    claimId,
    JSON.stringify(record),
    record.providerMessageId,
    verdict?.status ?? null,
    reason,
  ])
  return row?.status
}
