import { z } from 'zod'
import { timelineFields } from '../../core/sends/timeline.ts'
import { timelineEvents } from '../../core/sends/timeline-events.ts'
import { inputSchema, type JsonSchema, mapValues, ref } from './json-schema.ts'

/** The schemas of the events of a timeline, by name. */
export function eventSchemas(): Record<string, JsonSchema> {
  const variants = mapValues(timelineEvents, (_event, name) => ref(schemaName(name)))
  return {
    TimelineEvent: {
      description: 'One of these. Others may be added: ignore unknown ones.',
      oneOf: Object.values(variants),
      discriminator: { propertyName: 'event', mapping: mapValues(variants, ({ $ref }) => $ref) },
    },
    ...Object.fromEntries(
      Object.entries(timelineEvents).map(([name, { when, fields }]) => [
        schemaName(name),
        { ...schemaOf({ ...nameAndTime(name), ...fields }), description: when },
      ]),
    ),
  }
}

const nameAndTime = (name: string) => ({
  at: timelineFields.acceptedAt.describe('The time, in UTC.'),
  event: z.literal(name).describe('The name of the event.'),
})

const schemaOf = (fields: z.ZodRawShape) => inputSchema(z.object(fields))

/** `attempt_started` → `AttemptStartedEvent`. */
function schemaName(event: string): string {
  return `${event.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`
}
