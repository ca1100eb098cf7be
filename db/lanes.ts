/** SQL of the unfinished sends of the lane of a send, its head first. */
export const laneOf = (send: string) =>
  `select * from sends l where l.lane = ${send}.lane and l.finished_at is null order by l.seq`

/**
 * SQL that is true of a send `s` that has to wait for an earlier one of its lane.
 *
 * It asks for the lane's head, in the order of `sends_in_lanes`. As `exists (…)` it may be planned with any index of
 * unfinished sends: where PostgreSQL last saw none, they all look alike, and each look at a lane would read all that
 * wait (docs/decisions/0036-plans-without-statistics.md).
 */
export const isBehind = `coalesce((select seq from (${laneOf('s')} limit 1) head) < s.seq, false)`
