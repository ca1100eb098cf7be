import { z } from 'zod'
import { timelineFields } from '../../core/timeline.ts'
import { timelineEvents } from '../../core/timeline-events.ts'
import { inputSchema, type JsonSchema, mapValues, ref } from './json-schema.ts'

/** The schemas of what `GET /v1/messages/:requestId` answers, by their names. Open: fields may be added. */
export function timelineSchemas(): Record<string, JsonSchema> {
  const { properties = {}, ...timeline } = schemaOf(timelineFields)
  const { contact = {}, events } = properties
  const variants = mapValues(timelineEvents, (_event, name) => ref(schemaName(name)))
  return {
    Timeline: {
      ...timeline,
      properties: {
        ...properties,
        contact: ref('KnownContact'),
        events: { ...events, items: ref('TimelineEvent') },
      },
    },
    KnownContact: contact,
    TimelineEvent: {
      description: 'One of these; others may be added. Ignore what you do not know.',
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
  at: timelineFields.acceptedAt.describe('When, in UTC.'),
  event: z.literal(name).describe('What happened.'),
})

const schemaOf = (fields: z.ZodRawShape) => inputSchema(z.object(fields))

/** `attempt_started` → `AttemptStartedEvent`. */
function schemaName(event: string): string {
  return `${event.replace(/(?:^|_)([a-z])/g, (_, letter: string) => letter.toUpperCase())}Event`
}
