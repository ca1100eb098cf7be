import { z } from 'zod'
import { type CeilingReport, ceilingText, reportedShares } from '../../core/accounts/ceiling.ts'
import {
  type CallbackType,
  callbackBody,
  ceilingType,
  sendChangeTypes,
  staysAsItIs,
  testType,
} from '../../core/callbacks/callback.ts'
import { messageTypes } from '../../core/messages/message.ts'
import { deliveryStates } from '../../core/receipts/receipt.ts'
import { sendStatuses, timelineFields } from '../../core/sends/timeline.ts'
import { exampleIds } from '../routes/examples.ts'
import { count, named, text, timeText, uuid } from '../routes/schemas.ts'
import { inputSchema } from './json-schema.ts'

/** The callbacks that endpoints get (docs/reference/callbacks.md), as webhooks of OpenAPI 3.1, by their types. */
export function webhooks() {
  return Object.fromEntries([
    ...sendChangeTypes.map((type) => [type, { post: operation(type, meanings[type], sendChange) }]),
    [ceilingType, { post: operation(ceilingType, 'A share of a ceiling was used', ceilingUse) }],
    [testType, { post: operation(testType, 'The endpoint is tested', endpointTest) }],
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
  'message.unsubscribed': 'The contact unsubscribed by the address in the message',
}

const signature = (name: string, description: string, pattern: string) => ({
  name,
  in: 'header',
  required: true,
  description,
  schema: { type: 'string', pattern },
})

const headers = [
  signature(
    'webhook-id',
    'Stays when a callback is tried or sent again: drop what you have taken.',
    '^[0-9a-f-]+$',
  ),
  signature('webhook-timestamp', 'The time of this try, in seconds since 1970.', String.raw`^\d+$`),
  signature(
    'webhook-signature',
    'By Standard Webhooks: `v1,` and the HMAC-SHA256 of `id.timestamp.body` in base64; two of them while the secret is changed.',
    '^v1,',
  ),
]

function operation(type: CallbackType, summary: string, schema: z.ZodType) {
  return {
    operationId: `on${type.replace(/(?:^|[._])([a-z])/g, (_, letter: string) => letter.toUpperCase())}`,
    tags: ['Callbacks'],
    security: [],
    summary,
    parameters: headers,
    requestBody: {
      required: true,
      content: { 'application/json': { schema: inputSchema(schema), example: exampleOf(type) } },
    },
    responses: {
      '2XX': { description: 'Taken. The body is ignored.' },
      410: { description: 'The endpoint wants no more callbacks: it is disabled.' },
      default: { description: 'It is tried again, for about three days.' },
    },
  }
}

const isOfOneThatStays = (type: CallbackType) =>
  type !== testType && type !== ceilingType && staysAsItIs(type)

const exampleReport: CeilingReport = {
  accountId: exampleIds.channelId,
  channelId: null,
  ceiling: ceilingText({ amount: 10_000, unit: 'messages', period: 'day' }),
  percent: 80,
  until: '2026-11-22T00:00:00.000Z',
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
      metadata: null,
      segments: 1,
      encoding: 'gsm-7',
      priority: 'normal',
      flowId: null,
      conversationId: null,
      attempts: 1,
      providerAt: null,
      providerCode: null,
      status: isOfOneThatStays(type) ? 'sent' : null,
      delivery: isOfOneThatStays(type) ? 'delivered' : null,
      data: exampleReport,
    }),
  )

const about = (types: readonly string[]) => ({
  type: z.enum(types).describe('What changed.'),
  timestamp: timeText('When the change was recorded, in UTC; the same at every try.'),
})

// Not strict, because fields may be added.

const changedSend = named(
  'ChangedSend',
  z
    .object({
      requestId: uuid('The id of the send.'),
      reference: text("The client's own id of the send.").nullable(),
      metadata: timelineFields.metadata,
      segments: timelineFields.segments,
      encoding: timelineFields.encoding,
      priority: timelineFields.priority,
      sequence: z
        .int()
        .min(1)
        .describe(
          'Counts all changes of the send, also those that the endpoint does not take. Of two, the higher one is newer.',
        ),
      status: z.enum(sendStatuses).describe('The state of the send.'),
      delivery: z
        .enum(deliveryStates)
        .nullable()
        .describe('What the provider reported after it accepted the message.'),
      channelId: text('The channel of the request.'),
      messageType: z.enum(messageTypes).describe('The type of the message.'),
      flowId: text('Null if the send has none.').nullable(),
      conversationId: text('Null until the first attempt.').nullable(),
      attempts: count('The number of attempts so far.'),
      providerAt: text("The time of the provider's report, by its clock.").nullable(),
      providerCode: text("The provider's own code.").nullable(),
    })
    .describe('The send right after the change, without contact and content.'),
)

const sendChange = named(
  'SendChange',
  z.object({ ...about(sendChangeTypes), data: changedSend }).describe('A change of a send.'),
)

const ceilingReport = named(
  'CeilingReport',
  z.object({
    accountId: uuid('The account.'),
    channelId: uuid('The channel that has the ceiling; null if the account has it.').nullable(),
    ceiling: text('The ceiling, such as `10000 messages/day`.'),
    percent: z.literal(reportedShares).describe('How much of it was used, in percent, at least.'),
    until: timeText('The end of the period, in UTC.'),
  }),
)

const ceilingUse = named(
  'CeilingUse',
  z.object({ ...about([ceilingType]), data: ceilingReport }).describe('A share of a ceiling was used.'),
)

const testedEndpoint = named('TestedEndpoint', z.object({ endpointId: uuid('The endpoint.') }))

const endpointTest = named(
  'EndpointTest',
  z.object({ ...about([testType]), data: testedEndpoint }).describe('A test of the endpoint.'),
)
