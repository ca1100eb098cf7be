/**
 * SQL that is true of a send that has not ended. In these words the indexes of lanes and of quotas say it, and no other:
 * for a table that is small when PostgreSQL plans, an index of all that is unfinished, read whole, would do as well
 * (docs/decisions/0036-steady-estimates.md).
 */
export const isUnfinished = (send: string) => `coalesce(${send}.finished_at, 'infinity') = 'infinity'`

/** SQL of the unfinished sends of the lane of a send, its head first. */
export const laneOf = (send: string) =>
  `select * from sends l where l.lane = ${send}.lane and ${isUnfinished('l')} order by l.seq`
