import { fieldsOf } from '../sends/event-sql.ts'
import { sqlText } from '../statement.ts'

/*
 * The last attempt of a send that has ended is in its row, and its events are derived from there (`latestAttempt` in
 * src/core/sends/timeline.ts): `claimed_at` is its start, `attempt_record` its outcome, `finished_at` and `failure` its end. A claim
 * without an outcome is lost (docs/decisions/0011-latest-attempt-on-the-row.md). It stays in the row of a queued send too, so that
 * its late outcome can be matched to it; its events are stored then.
 */

/** SQL that is true for a send `s` that isn't `sending` and whose claim was given up, without an outcome since. */
export const claimIsLost = '(s.claimed_at is not null and s.attempt_record is null)'

/**
 * SQL that is true if the events of a lost claim are stored: for a send that waited for its next attempt when it was canceled. By
 * `limit 1`, PostgreSQL looks at the events of this send, instead of reading all starts.
 */
const lossIsStored = sqlText`
  (${claimIsLost} and coalesce((
    select true from send_events e
    where e.request_id = s.request_id and e.at = s.claimed_at and e.event = 'attempt_started'
    limit 1), false))`

/** SQL of the start of the attempt in the row of a send `s` that has ended; null if its event is stored. */
export const startInRow = sqlText`
  case when not ${lossIsStored}
       then s.claimed_at end`

/** SQL of the fields of the attempt's loss; null if it wasn't lost, or the event is stored. */
export const lossInRow = sqlText`
  case when ${claimIsLost}
            and not ${lossIsStored}
       then ${fieldsOf('attempt_lost', { attempt: 's.attempt', reason: 's.failure' })} end`

/** SQL of the columns of the attempt in the row of a send `s` that has ended, for `attemptsToEvents`, and of the send's end. */
export const attemptInRow = sqlText`
  s.attempt, s.worker,
  ${startInRow} as claimed_at,
  s.finished_at as ended_at, s.attempt_record as record,
  ${lossInRow} as loss,
  s.status, s.failure`
