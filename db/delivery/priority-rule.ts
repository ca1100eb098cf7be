import { priorities } from '../../src/core/sends/priority.ts'

/*
 * The index of what waits of a channel is ordered by priority, and then by time. These parts let PostgreSQL use it for all priorities
 * together, with one search for each.
 */

/** SQL that is true for a send of any priority. */
export const isOfAnyPriority = (send: string) =>
  `${send}.priority in (${priorities.map((priority) => `'${priority}'`).join(', ')})`

/** SQL of a relation `each_priority`, to be joined with a lateral search for the sends of each. */
export const eachPriority = 'unnest(enum_range(null::priority)) as each_priority (priority)'
