import { type CallbackType, callbackBody, sendChangeTypes, testType } from '../../core/callbacks/callback.ts'
import { messageTypes } from '../../core/messages/message.ts'
import { deliveryStates } from '../../core/receipts/receipt.ts'
import { sendStatuses } from '../../core/sends/timeline.ts'
import { exampleIds } from './examples.ts'
import { type JsonSchema, ref } from './json-schema.ts'
import { open } from './operation.ts'

/** What endpoints get (docs/reference/callbacks.md), as webhooks of OpenAPI 3.1, by their types. */
export function webhooks() {
  return Object.fromEntries([
    ...sendChangeTypes.map((type) => [type, { post: operation(type, meanings[type], 'SendChange') }]),
    [testType, { post: operation(testType, 'An operator tests the endpoint', 'EndpointTest') }],
  ])
}

const meanings: Record<(typeof sendChangeTypes)[number], string> = {
  'message.sent': 'The provider accepted the message',
  'message.failed': 'The send failed',
  'message.uncertain': 'The provider may or may not have the message',
  'message.canceled': 'The send was canceled',
  'message.fell_back': 'The send did not end: it goes on by the fallback of its channel',
  'message.replayed': 'An operator replayed the send',
  'message.delivered': 'The contact got the message',
  'message.read': 'The contact read the message',
  'message.undelivered': 'The message could not be delivered',
  'message.complained': 'The contact complained about the message',
}

const signature = (name: string, description: string, pattern: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', pattern },
})

const headers = [
  signature('webhook-id', 'The same at every try and resend: drop what you have taken.', '^[0-9a-f-]+$'),
  signature('webhook-timestamp', 'The time of this try, in seconds since 1970.', String.raw`^\d+$`),
  signature(
    'webhook-signature',
    'By Standard Webhooks: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64; two of them while the secret is changed.',
    '^v1,',
  ),
]

function operation(type: CallbackType, summary: string, schema: string) {
  return {
    operationId: `on${type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: ['Callbacks'],
    security: open,
    summary,
    parameters: headers,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: ref(schema), example: exampleOf(type) } },
    },
    responses: {
      '2XX': { description: 'Taken. The body is ignored.' },
      410: { description: 'The endpoint wants no more callbacks: it is disabled.' },
      default: { description: 'It is tried again, for about three days.' },
    },
  }
}

const exampleOf = (type: CallbackType): unknown =>
  JSON.parse(
    callbackBody({
      type,
      at: '2026-11-21T12:43:12.123Z',
      endpointId: exampleIds.channelId,
      requestId: exampleIds.requestId,
      sequence: 1,
      channelId: exampleIds.channelId,
      messageType: 'text',
      reference: null,
      flowId: null,
      conversationId: null,
      attempts: 1,
      providerAt: null,
      providerCode: null,
      status: type === 'message.complained' ? 'sent' : null,
      delivery: type === 'message.complained' ? 'delivered' : null,
    }),
  )

const string = (description: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  description,
  ...more,
})
const orNull = (description: string): JsonSchema => ({ type: ['string', 'null'], description })
const id = { format: 'uuid' }

const about = (types: readonly string[]) => ({
  type: string('What changed.', { enum: [...types] }),
  timestamp: string('When the change was recorded, in UTC; the same at every try.', { format: 'date-time' }),
})

/** Not strict, because fields may be added. */
export const callbackSchemas: Record<string, JsonSchema> = {
  SendChange: {
    type: 'object',
    description: 'A change of a send.',
    properties: { ...about(sendChangeTypes), data: ref('ChangedSend') },
    required: ['type', 'timestamp', 'data'],
  },
  ChangedSend: {
    type: 'object',
    description: 'The send right after the change, without contact and content.',
    properties: {
      requestId: string('The id of the send.', id),
      reference: orNull("The client's own id of the send."),
      sequence: {
        type: 'integer',
        minimum: 1,
        description:
          'Counts all changes of the send, also those that the endpoint does not take. Of two, the higher one is newer.',
      },
      status: string('The state of the send.', { enum: [...sendStatuses] }),
      delivery: {
        type: ['string', 'null'],
        enum: [null, ...deliveryStates],
        description: 'What the provider reported after it accepted the message.',
      },
      channelId: string('The channel of the request.'),
      messageType: string('The type of the message.', { enum: [...messageTypes] }),
      flowId: orNull('Null if the send has none.'),
      conversationId: orNull('Null until the first attempt.'),
      attempts: { type: 'integer', minimum: 0, description: 'The number of attempts so far.' },
      providerAt: orNull("The time of the provider's report, by its clock."),
      providerCode: orNull("The provider's own code."),
    },
    required: [
      ...['requestId', 'reference', 'sequence', 'status', 'delivery', 'channelId', 'messageType', 'flowId'],
      ...['conversationId', 'attempts', 'providerAt', 'providerCode'],
    ],
  },
  EndpointTest: {
    type: 'object',
    description: 'A test by an operator.',
    properties: { ...about([testType]), data: ref('TestedEndpoint') },
    required: ['type', 'timestamp', 'data'],
  },
  TestedEndpoint: {
    type: 'object',
    properties: { endpointId: string('The endpoint.', id) },
    required: ['endpointId'],
  },
}
