import { unusedKeptSeconds } from '../../src/core/sends/delivery-times.ts'
import { sqlText } from '../statement.ts'

/** SQL that is true for a permit `p` whose send `s` is waiting for its attempt, and for one whose attempt is running. */
const isUnused = `(s.status = 'queued' and s.attempt = p.attempt - 1)`
export const isInUse = `(s.status = 'sending' and s.attempt = p.attempt)`

/** SQL that is true for a permit `p` of a send `s` that is in flight, is being claimed, or may still be claimed. */
export const isLive = sqlText`
  (${isInUse}
   or ${isUnused}
      and p.valid_until > clock_timestamp() - interval '1 s')`

/** SQL that is true for a permit `p` that its send `s` hasn't used, and that is valid or expired not long ago. */
export const isEvidence = sqlText`
  (${isUnused}
   and p.valid_until > clock_timestamp() - interval '${unusedKeptSeconds} s')`

/**
 * SQL that is true if a ready send of a channel has had permits for longer than `longestMs`, and used none. While the breaker is
 * open, the permits granted before can't be used.
 *
 * @param longestMs SQL of a time in which any permit expires.
 */
export const hasUnusedPermits = (isReadySend: string, longestMs: string) => sqlText`
  channels.breaker_open_until is null and coalesce((
    select true from permits p join sends s using (request_id)
    where p.channel_id = channels.id
      and ${isEvidence}
      and p.unused_since < now() - ${longestMs} * interval '1 ms'
      and ${isReadySend}
    limit 1), false)`
