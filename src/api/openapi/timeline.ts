import { z } from 'zod'
import { timelineFields } from '../../core/sends/timeline.ts'
import { timelineEvents } from '../../core/sends/timeline-events.ts'
import { named } from '../routes/schemas.ts'
import { inputSchema, type JsonSchema, mapValues } from './json-schema.ts'

/** The schema of the events of a timeline, by their names; names that of each. */
export function timelineEventSchema(): JsonSchema {
  const variants = mapValues(timelineEvents, ({ when, fields }, name) => {
    const event = z.object({ ...nameAndTime(name), ...fields }).describe(when)
    return inputSchema(named(schemaName(name), event))
  })
  return {
    description: 'One of these. Others may be added: ignore unknown ones.',
    oneOf: Object.values(variants),
    discriminator: { propertyName: 'event', mapping: mapValues(variants, ({ $ref }) => $ref) },
  }
}

const nameAndTime = (name: string) => ({
  at: timelineFields.acceptedAt.describe('The time, in UTC.'),
  event: z.literal(name).describe('The name of the event.'),
})

/** `attempt_started` → `AttemptStartedEvent`. */
function schemaName(event: string): string {
  return `${event.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`
}
