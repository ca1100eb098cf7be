import type { EventFields, TimelineEventName } from '../../src/core/sends/timeline-events.ts'
import { sqlList, sqlText } from '../statement.ts'

/** Longer fields get lines of their own. */
const shortList = 60

type FieldsInSql<Name extends TimelineEventName> = { [Field in keyof EventFields[Name]]: string }

/** SQL of an event's fields, checked against the table of events, in the order of the timeline. */
export function fieldsOf<Name extends TimelineEventName>(_name: Name, fields: FieldsInSql<Name>): string {
  const pairs = Object.entries(fields).map(([field, value]) => `'${field}', ${value}`)
  const list = sqlList(pairs)
  return list.length > shortList
    ? `json_build_object(\n  ${list.replaceAll('\n', '\n  ')})`
    : `json_build_object(${list})`
}

/** SQL of an event: its time, its name and its fields, or an SQL expression that has the fields. */
export const eventOf = <Name extends TimelineEventName>(
  at: string,
  name: Name,
  fields: FieldsInSql<Name> | string,
) => `${at}, '${name}', ${typeof fields === 'string' ? fields : fieldsOf(name, fields)}`

/** SQL of the event that ended the send of an attempt `a`, with its columns `status` and `failure`. The event has the status's name. */
export const endOf = (at: string) => `${at}, a.status, ${fieldsOf('failed', { reason: 'a.failure' })}`

/**
 * SQL that moves attempts from their sends' rows to send_events, as the events that the timeline derived from the row until then
 * (`latestAttempt` in src/core/sends/timeline.ts), so that the row can hold the next attempt.
 *
 * @param attempts a relation with `request_id`, `attempt`, `worker`, `claimed_at` (null if the row keeps the claim), `ended_at`,
 *   `record` (null if the attempt was lost) and `loss` (the fields of `attempt_lost`, or null).
 * @param then the following events, each made by `eventOf` or `endOf`, over the columns of an attempt `a`. An event with a null time is
 *   left out.
 */
export const attemptsToEvents = (attempts: string, ...then: string[]) => sqlText`
  insert into send_events (request_id, at, event, fields)
  select a.request_id, e.at, e.event, e.fields
  from ${attempts} a cross join lateral (values
    ${[
      eventOf('a.claimed_at', 'attempt_started', { attempt: 'a.attempt', worker: 'a.worker' }),
      eventOf('a.ended_at', 'attempt_lost', 'a.loss'),
      eventOf('a.ended_at', 'attempt_finished', 'a.record'),
      ...then,
    ]
      .map((event, position) => `(${position + 1}, ${event})`)
      .join(',\n')}
  ) as e (position, at, event, fields)
  where e.at is not null and e.fields is not null
  order by a.request_id, e.position`
