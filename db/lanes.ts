/** SQL of the unfinished sends of the lane of a send, its head first. */
export const laneOf = (send: string) =>
  `select * from sends l where l.lane = ${send}.lane and l.finished_at is null order by l.seq`

/**
 * SQL that is true of a send `s` that has to wait for an earlier one of its lane.
 *
 * It asks for the lane's head, in the order of `sends_in_lanes`: as `exists (…)` it could be joined, and each look at a
 * lane read all sends that wait (docs/decisions/0036-steady-estimates.md).
 */
export const isBehind = `coalesce((select seq from (${laneOf('s')} limit 1) head) < s.seq, false)`
