import { sqlText } from '../statement.ts'

/**
 * SQL that is true for a send that has not ended. Only the indexes of lanes and of quotas use this expression. With
 * `finished_at is null`, PostgreSQL might plan to read the index of all unfinished sends instead, if it plans while the table is
 * small (docs/decisions/0036-steady-estimates.md).
 */
export const isUnfinished = (send: string) => `coalesce(${send}.finished_at, 'infinity') = 'infinity'`

/** SQL of the unfinished sends in the lane of a send, the head first. */
export const laneOf = (send: string) => sqlText`
  select * from sends l
  where l.lane = ${send}.lane and ${isUnfinished('l')}
  order by l.seq`
