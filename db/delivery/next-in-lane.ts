import { overflowOf } from '../admission/quota.ts'
import { sqlText } from '../statement.ts'
import { laneOf } from './lane-rule.ts'

/** SQL of the wake-up of the next send in the lane of a send that has ended. */
export const nextInLane = (s: string) => sqlText`
  case when ${s}.status <> 'queued' then
    (select json_build_object('requestId', next.request_id,
                              'overflowOf', ${overflowOf('next')})
     from (
       ${laneOf(s)}) next
     where next.seq > ${s}.seq limit 1) end as "nextInLane"`
