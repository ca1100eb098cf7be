import type { EventFields, TimelineEventName } from '../src/core/timeline-events.ts'
import { sqlText } from './statement.ts'

type FieldsInSql<Name extends TimelineEventName> = { [Field in keyof EventFields[Name]]: string }

/** SQL of an event's fields, which are those of the table of events, in the order in which people read them. */
export function fieldsOf<Name extends TimelineEventName>(_name: Name, fields: FieldsInSql<Name>): string {
  const pairs = Object.entries(fields).map(([field, value]) => `'${field}', ${value}`)
  return `json_build_object(${pairs.join(', ')})`
}

/** SQL of an event: when it was, its name and its fields, which may come from elsewhere. */
export const eventOf = <Name extends TimelineEventName>(
  at: string,
  name: Name,
  fields: FieldsInSql<Name> | string,
) => `${at}, '${name}', ${typeof fields === 'string' ? fields : fieldsOf(name, fields)}`

/**
 * SQL that moves attempts from their sends' rows to send_events, as the timeline has told them by the row until then
 * (`latestAttempt` in src/core/timeline.ts): the row can hold the next attempt.
 *
 * @param attempts what has them: `request_id`, `attempt`, `worker`, `claimed_at` (null where the row goes on telling of
 *   the claim), `ended_at`, `record` (null where the attempt was lost) and `loss` (the fields of `attempt_lost`, or null).
 * @param then the events that follow, each as `eventOf` has it, by the columns of an attempt `a`. One without a moment is
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
