import type { WakeUp } from '../../src/core/sends/send-job.ts'
import { overflowOf } from '../admission/quota.ts'
import { isBehind, isWakeable } from '../claim-rule.ts'
import type { Database } from '../connection/client.ts'
import { isChannelInSlowStart } from '../reasons-to-wait.ts'
import { prepared, sqlText } from '../statement.ts'

const noteStatement = prepared<{ wasInSlowStart: boolean }>(
  'note_answer',
  'Records that a send of the channel’s overflow got an answer, which ends its slow start.',
  sqlText`
    with channels as materialized (
      select id, ${isChannelInSlowStart} as was_in_slow_start
      from channels where id = $1 for no key update)
    update channels noted set answered_at = clock_timestamp() from channels where noted.id = channels.id
    returning was_in_slow_start as "wasInSlowStart"`,
)

/** Records that a send of the channel's overflow got an answer. @returns whether the channel was in slow start. */
export async function noteAnswer(db: Database, channelId: string): Promise<boolean> {
  const [row] = await noteStatement(db, [channelId])
  return row?.wasInSlowStart ?? false
}

const waitingStatement = prepared<WakeUp>(
  'waiting_overflow',
  'Lists the due sends of a channel’s overflow.',
  sqlText`
    select s.request_id as "requestId", ${overflowOf('s')} as "overflowOf"
    from sends s join channels on channels.id = s.channel_id
    where s.channel_id = $1 and s.finished_at is null and s.overflow
      and ${isWakeable()}
      and not ${isBehind}
    order by s.priority, s.next_attempt_at, s.seq
    limit $2`,
)

/** The due sends of the channel's overflow, the most urgent first, else in the order in which they fell due. */
export function findWaitingOverflow(db: Database, channelId: string, limit: number): Promise<WakeUp[]> {
  return waitingStatement(db, [channelId, limit])
}
