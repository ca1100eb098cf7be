import { contactKinds, defaultContactType } from '../../core/contacts/contact.ts'
import { deliveryStates } from '../../core/receipts/receipt.ts'
import { listParameters } from '../../core/requests/list-query.ts'
import { maxMessages } from '../../core/sends/send-request.ts'
import { sendStatuses } from '../../core/sends/timeline.ts'
import { exampleBodies, exampleIds, exampleTimeline } from './examples.ts'
import { type JsonSchema, ref } from './json-schema.ts'
import { idempotencyKey, inQuery, type Operation, type PathSettings, traceparent } from './operation.ts'
import { refusalsOfBatch, refusalsOfList } from './refusals.ts'
import { answer, countedSend, rateLimitHeaders, refused } from './responses.ts'
import { timelineSchemas } from './timeline.ts'

const requestId = { type: 'string', format: 'uuid' }

/** The schemas of a batch and of a list, by name. */
export function batchAndListSchemas(): Record<string, JsonSchema> {
  const { events: _, ...fields } = timelineSchemas().Timeline?.properties ?? {}
  return {
    BatchRequest: {
      type: 'object',
      properties: {
        messages: {
          type: 'array',
          items: ref('SendRequest'),
          minItems: 1,
          maxItems: maxMessages,
          description: 'The messages. To one contact on one channel, they are sent in this order.',
        },
      },
      required: ['messages'],
      additionalProperties: false,
    },
    AcceptedBatch: {
      type: 'object',
      description: 'All sends of the batch are recorded.',
      properties: {
        requestId: { ...requestId, description: 'The id of this request. It is no send.' },
        messages: {
          type: 'array',
          items: ref('Accepted'),
          description: 'The sends, in the order of the messages.',
        },
      },
      required: ['requestId', 'messages'],
      additionalProperties: false,
    },
    SendList: {
      type: 'object',
      properties: {
        requestId: { ...requestId, description: 'The id of this request.' },
        messages: { type: 'array', items: ref('SendSummary'), description: 'The sends, newest first.' },
        next: {
          type: ['string', 'null'],
          description: 'The value of `after` for the next page. Null if there is none.',
        },
      },
      required: ['requestId', 'messages', 'next'],
    },
    SendSummary: {
      type: 'object',
      description: 'A send as in its timeline, without the events.',
      properties: fields,
      required: Object.keys(fields),
    },
  }
}

export function batch(settings: PathSettings): Operation {
  const { channelId } = exampleIds
  const messages = [exampleBodies.text, exampleBodies.later].map(({ value }) => ({ channelId, ...value }))
  const accepted = {
    requestId: exampleIds.requestId,
    messages: [{ requestId: exampleIds.flowId }, { requestId: exampleIds.conversationId }],
  }
  return {
    operationId: 'sendBatch',
    tags: ['Messages'],
    summary: `Send up to ${maxMessages} messages, all or none`,
    description:
      'Each message is a body of `POST /v1/messages`, and is checked like one. All are recorded in one transaction, or none: a 400 names the faulty ones. The batch counts as its number of messages for the rate limit. An Idempotency-Key is for the whole batch.',
    security: [{ apiKey: ['messages:send'] }],
    parameters: [idempotencyKey, traceparent],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: ref('BatchRequest'),
          examples: { two: { summary: 'One now, one later', value: { messages } } },
        },
      },
    },
    responses: {
      202: answer('All sends are recorded.', 'AcceptedBatch', accepted, [
        ...rateLimitHeaders,
        'Idempotent-Replayed',
      ]),
      ...refused(refusalsOfBatch(settings), countedSend),
    },
  }
}

const byDefault = contactKinds[defaultContactType]
const time = { type: 'string', format: 'date-time' }
/** The schemas of the parameters of a list, as JSON Schema has words for them. */
const schemas: Record<Exclude<keyof typeof listParameters, 'limit' | 'after'>, JsonSchema> = {
  status: { type: 'string', enum: sendStatuses },
  delivery: { type: 'string', enum: deliveryStates },
  channelId: { type: 'string' },
  flowId: { type: 'string' },
  contact: { type: 'string', examples: [byDefault.example] },
  reference: { type: 'string' },
  providerCode: { type: 'string' },
  acceptedFrom: time,
  acceptedTo: time,
}

export function list(settings: PathSettings): Operation {
  const { events: _, ...summary } = exampleTimeline
  return {
    operationId: 'listMessages',
    tags: ['Messages'],
    summary: 'List the sends of the account, newest first',
    description:
      "Ordered by acceptance time, including scheduled sends. A page may have fewer than `limit` sends, or none, since it looks at no more than 100,000: go on until `next` is null. Each send that is there from the first page to the last is on exactly one. Reading doesn't count for the account's rate limit, but for the limit of the key.",
    security: [{ apiKey: ['messages:read'] }],
    parameters: inQuery(listParameters, schemas),
    responses: {
      200: answer('A page of sends.', 'SendList', {
        requestId: exampleIds.requestId,
        messages: [summary],
        next: 'AAZg-x3_W1MBof3jBLBwnr7AuUDMevPA',
      }),
      ...refused(refusalsOfList(settings)),
    },
  }
}
