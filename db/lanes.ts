/**
 * SQL that is true of a send `s` that has to wait for an earlier one of its lane. With its limit, PostgreSQL looks for
 * one in the lane, and doesn't read all lanes at once.
 */
export const isBehind = `coalesce((
  select true from sends earlier
  where earlier.lane = s.lane and earlier.seq < s.seq and earlier.finished_at is null limit 1), false)`

/** SQL of the unfinished sends of the lane of a send, its head first. */
export const laneOf = (send: string) =>
  `select * from sends l where l.lane = ${send}.lane and l.finished_at is null order by l.seq`
