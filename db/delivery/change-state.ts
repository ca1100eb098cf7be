import { overflowOf } from '../admission/quota.ts'
import { type Changes, endpointsToWake } from '../callbacks/new-callbacks.ts'
import { countChanges, countedAs, countedColumns } from '../counters/counted-as.ts'
import { sends } from '../schema.ts'
import { sqlList, sqlText } from '../statement.ts'
import { laneOf } from './lane-rule.ts'

/*
 * The one place where statements change the state of sends; only claims are elsewhere (db/delivery/claims.ts). Whatever ends a
 * send, or lets it go on after its end, is numbered and counted here, and callbacks are inserted. src/sends/send-end.ts does what
 * follows.
 */

type Columns = { [Column in Exclude<keyof typeof sends.$inferInsert, 'changeNumber' | 'countedAs'>]?: string }

/** SQL of new values of columns of a send `s`: at least of those that each change of its state decides. */
export type NewState = Columns & Record<'status' | 'finishedAt' | 'failure' | 'claimedAt', string>

/** How the change counts (db/counters/counted-as.ts). */
interface Counted {
  /** SQL of the column `counted_as` that the send had when it was locked. */
  before: string
  /** SQL of whether the state changes at all; by default it does. */
  isChanged?: string
  /** SQL of the code of the receipt that reports it as undelivered. */
  reportedCode?: string
}

interface StateChange {
  set: NewState
  /** SQL of the relation that the new values use, and of the condition by which its rows are joined to `s`. */
  from: string
  where: string
  changes: Changes
  counted: Counted
  /** SQL of further columns of the sends written. */
  returning?: readonly string[]
}

/** SQL of CTEs that change the state of sends. One of them is `written`, the sends by then. */
export const changeState = ({ set, from, where, changes, counted, returning = [] }: StateChange) => sqlText`
  ${announced(
    sqlText`
      update sends s set
        ${assignments(set)},
        change_number = s.change_number + ${changes.count},
        counted_as = ${nextCountedAs(set, counted)}
      from ${from}
      where ${where}`,
    changes,
    [countedColumns(counted.before), ...returning],
  )},
  ${countChanges}`

function nextCountedAs(set: NewState, { isChanged, reportedCode = 'null' }: Counted): string {
  const next = countedAs({ delivery: 's.delivery', attemptRecord: 's.attempt_record', reportedCode, ...set })
  const conditions = ['s.counted_as is not null', ...(isChanged === undefined ? [] : [isChanged])]
  return sqlText`
    case when ${conditions.join(' and ')} then
      ${next}
    else s.counted_as end`
}

/**
 * As `changeState`, for sends that are inserted in a state after that of their accept. A trigger counts them.
 *
 * @param values SQL of the `columns`, from `from`.
 */
export const insertInState = (columns: string, values: string, from: string, changes: Changes) =>
  announced(
    sqlText`
      insert into sends as s (
        ${columns}, change_number)
      select
        ${values}, ${changes.count}
      from ${from}`,
    changes,
  )

const announced = (writing: string, changes: Changes, returning: readonly string[] = []) => sqlText`
  -- The sends' next states, numbered.
  written as (
    ${writing}
    returning
      ${['s.request_id, s.status, s.lane, s.seq', ...returning, changes.columns].join(',\n')}),
  -- The callbacks.
  announced as (
    ${changes.insertCallbacks})`

function assignments(set: Columns): string {
  const keys = Object.keys(set) as (keyof Columns)[]
  return sqlList(keys.map((key) => sqlText`${sends[key].name} = ${set[key] ?? ''}`))
}

/** SQL of the wake-up of the next send in the lane of a send that has ended. */
export const nextInLane = (s: string) => sqlText`
  case when ${s}.status <> 'queued' then
    (select json_build_object('requestId', next.request_id,
                              'overflowOf', ${overflowOf('next')})
     from (
       ${laneOf(s)}) next
     where next.seq > ${s}.seq limit 1) end as "nextInLane"`

/** SQL of the endpoints of the callbacks about sends of `written`. */
export const theirEndpoints = endpointsToWake('written.endpoint_ids')
