import { maxPerRequest } from '../../core/providers/webhook-receipts.ts'
import { build } from '../../platform/process/build.ts'
import { guideNames } from '../docs/guide.ts'
import { index } from '../index-route.ts'
import { batch, list } from './batch-and-list.ts'
import { cancel, cancelMany, move } from './changes.ts'
import { channelPaths } from './channels.ts'
import { endpointPaths } from './endpoints.ts'
import { exampleBodies, exampleIds, exampleReceipt, exampleTimeline } from './examples.ts'
import { mapValues, ref } from './json-schema.ts'
import { idempotencyKey, inPath, type Operation, open, type PathSettings, traceparent } from './operation.ts'
import {
  type Refusals,
  refusalsOfAny,
  refusalsOfGuide,
  refusalsOfMedia,
  refusalsOfRead,
  refusalsOfReadiness,
  refusalsOfReceipts,
  refusalsOfReceiptsCheck,
  refusalsOfSend,
} from './refusals.ts'
import { answer, countedSend, headerRefs, rateLimitHeaders, refused } from './responses.ts'
import { suppressionPaths } from './suppressions.ts'

export type Paths = Record<string, Partial<Record<'get' | 'head' | 'post' | 'patch' | 'delete', Operation>>>

/** Each route of the API (src/api/app.ts), with all its answers. */
export function paths(settings: PathSettings): Paths {
  return {
    '/v1/messages': { post: send('channelInBody', settings), get: list(settings) },
    '/v1/messages/batch': { post: batch(settings) },
    '/v1/channels/{channelId}/messages': { post: send('channelInPath', settings) },
    '/v1/messages/cancel': { post: cancelMany(settings) },
    '/v1/messages/{requestId}': { get: read(settings), patch: move(settings) },
    '/v1/messages/{requestId}/cancel': { post: cancel(settings) },
    ...channelPaths(settings),
    ...endpointPaths(settings),
    ...suppressionPaths(settings),
    '/receipts/{channelId}': { post: receipts, get: checkReceipts },
    ...(settings.PUBLIC_BASE_URL !== undefined && {
      '/media/{token}': { get: media('getMedia'), head: media('headMedia') },
    }),
    '/': { get: getIndex },
    '/healthz': {
      get: health('getHealth', 'Whether the process is running', {
        example: { status: 'ok', version: build.version },
        refusals: refusalsOfAny('GET', 'HEAD'),
      }),
    },
    '/readyz': {
      get: health('getReadiness', 'Whether the process takes requests', {
        example: { status: 'ok' },
        refusals: refusalsOfReadiness(),
      }),
    },
    '/openapi.json': {
      get: staticContent('getOpenApi', 'This document', ['application/json'], { type: 'object' }),
    },
    '/docs': {
      get: staticContent('getDocs', 'The reference, to read and try', ['text/html'], { type: 'string' }),
    },
    '/docs/{page}': { get: guide() },
  }
}

function send(endpoint: 'channelInBody' | 'channelInPath', settings: PathSettings): Operation {
  const inBody = endpoint === 'channelInBody'
  const { channelId } = exampleIds
  const accepted = answer('The send is recorded.', 'Accepted', { requestId: exampleIds.requestId }, [
    ...rateLimitHeaders,
    'Idempotent-Replayed',
  ])
  return {
    operationId: inBody ? 'sendMessage' : 'sendMessageOnChannel',
    tags: ['Messages'],
    summary: `Send a message; the channel is in the ${inBody ? 'body' : 'path'}`,
    description:
      "Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error.",
    security: [{ apiKey: ['messages:send'] }],
    parameters: [
      ...(inBody ? [] : [inPath('channelId', 'The channel that sends the message.', channelId)]),
      idempotencyKey,
      traceparent,
    ],
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: ref(inBody ? 'SendRequest' : 'ChannelSendRequest'),
          examples: mapValues(exampleBodies, ({ summary, value }) => ({
            summary,
            value: inBody ? { channelId, ...value } : value,
          })),
        },
      },
    },
    responses: { 202: accepted, ...refused(refusalsOfSend(endpoint, settings), countedSend) },
  }
}

const read = (settings: PathSettings): Operation => ({
  operationId: 'getMessage',
  tags: ['Messages'],
  summary: "Read a send's state and timeline",
  description:
    "The send's state and its timeline. `sent` means accepted by the provider, not delivered to the contact. Reading doesn't count for the account's rate limit, but for the limit of the key.",
  security: [{ apiKey: ['messages:read'] }],
  parameters: [inPath('requestId', "The `requestId` of the send's 202.", exampleIds.requestId)],
  responses: {
    200: answer('The send and its timeline.', 'Timeline', exampleTimeline),
    ...refused(refusalsOfRead(settings)),
  },
})

const receipts: Operation = {
  operationId: 'receive',
  tags: ['Receipts'],
  security: open,
  summary: 'What a provider reports about messages that it has accepted',
  description:
    "For providers, and for receivers of a webhook channel. Signed or authorized as the channel's provider does it; it needs no API key. A 200 means that all receipts of the request are recorded.",
  parameters: [inPath('channelId', 'The channel that sent the messages.')],
  requestBody: {
    required: true,
    description: "In the form of the channel's provider. The JSON is that of a webhook channel.",
    content: {
      'application/json': {
        schema: {
          oneOf: [
            ref('WebhookReceipt'),
            { type: 'array', items: ref('WebhookReceipt'), minItems: 1, maxItems: maxPerRequest },
          ],
        },
        examples: {
          one: { summary: 'One receipt', value: exampleReceipt },
          list: { summary: 'Several', value: [exampleReceipt] },
        },
      },
      'application/x-www-form-urlencoded': { schema: { type: 'object' } },
      'message/rfc822': { schema: { type: 'string' } },
    },
  },
  responses: {
    200: { description: 'All receipts are recorded.', headers: headerRefs([]) },
    ...refused(refusalsOfReceipts()),
  },
}

const checkReceipts: Operation = {
  operationId: 'checkReceipts',
  tags: ['Receipts'],
  security: open,
  summary: "A provider's check of the address for receipts",
  description: 'The handshake of WhatsApp: with the right token, the answer is its challenge.',
  parameters: [
    inPath('channelId', 'The channel.'),
    ...['hub.mode', 'hub.verify_token', 'hub.challenge'].map((name) => ({
      name,
      in: 'query',
      schema: { type: 'string' },
    })),
  ],
  responses: {
    200: {
      description: 'The challenge.',
      headers: headerRefs([]),
      content: { 'text/plain': { schema: { type: 'string' } } },
    },
    ...refused(refusalsOfReceiptsCheck()),
  },
}

const getIndex: Operation = {
  operationId: 'getIndex',
  tags: ['Documentation'],
  security: open,
  summary: 'The paths of the API',
  description: 'Where to begin. It needs no API key.',
  responses: {
    200: answer('The paths to begin with.', 'Index', index),
    ...refused(refusalsOfAny('GET', 'HEAD')),
  },
}

function media(operationId: string): Operation {
  return {
    operationId,
    tags: ['Media'],
    security: open,
    summary: 'The media of a send, for a provider that takes only links',
    description: 'The link is signed and expires after an hour; it needs no API key.',
    parameters: [inPath('token', 'The token of the link.')],
    responses: {
      200: {
        description: "The content, of the send's media type.",
        headers: headerRefs([]),
        content: { '*/*': {} },
      },
      ...refused(refusalsOfMedia()),
    },
  }
}

function health(
  operationId: string,
  summary: string,
  { example, refusals }: { example: object; refusals: Refusals },
): Operation {
  return {
    operationId,
    tags: ['Health'],
    security: open,
    summary,
    description: 'For load balancers and monitoring. It needs no API key.',
    responses: { 200: answer('Yes.', 'Health', example), ...refused(refusals) },
  }
}

const guideTypes = ['text/html', 'text/css', 'text/javascript', 'image/svg+xml']

function guide(): Operation {
  const page = staticContent('getGuide', 'A guide, the search, or a file of these pages', guideTypes, {
    type: 'string',
  })
  return {
    ...page,
    parameters: [inPath('page', 'The name of the guide.', guideNames[0])],
    responses: { ...page.responses, ...refused(refusalsOfGuide()) },
  }
}

function staticContent(operationId: string, summary: string, types: string[], schema: object): Operation {
  const content = Object.fromEntries(types.map((type) => [type, { schema }]))
  return {
    operationId,
    tags: ['Documentation'],
    security: open,
    summary,
    description: 'It has an `ETag`, and needs no API key.',
    responses: {
      200: { description: 'The content.', headers: headerRefs(['ETag']), content },
      304: { description: 'Unchanged since the `If-None-Match`.', headers: headerRefs(['ETag']) },
      ...refused(refusalsOfAny('GET', 'HEAD')),
    },
  }
}
