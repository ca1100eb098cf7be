import { webhookReceipt } from '../../core/providers/webhook-receipts.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import { basePlaceholder } from '../docs/base-url.ts'
import type { GuideName } from '../docs/guide.ts'
import { index } from '../index-route.ts'
import { batchAndListSchemas } from './batch-and-list.ts'
import { changeSchemas } from './changes.ts'
import { channelSchemas } from './channels.ts'
import { endpointSchemasByName } from './endpoints.ts'
import { inputSchema } from './json-schema.ts'
import { paths } from './paths.ts'
import { bodySchemas } from './request-body.ts'
import { headers } from './responses.ts'
import { suppressionSchemas } from './suppressions.ts'
import { timelineSchemas } from './timeline.ts'
import { callbackSchemas, webhooks } from './webhooks.ts'

export type DocumentSettings = Pick<
  Settings,
  | 'CLIENT_PRIVATE_NETWORKS'
  | 'MAX_BODY_BYTES'
  | 'PUBLIC_BASE_URL'
  | 'RATE_LIMIT_POINTS'
  | 'RATE_LIMIT_WINDOW_SECONDS'
>

export type OpenApiDocument = ReturnType<typeof openApiDocument>

/** The OpenAPI 3.1 document of all routes of the API. */
export function openApiDocument(settings: DocumentSettings) {
  const { PUBLIC_BASE_URL: publicBaseUrl } = settings
  return {
    openapi: '3.1.0',
    info: {
      title: 'Outbound Messaging API',
      version: '1',
      description: about(settings),
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [
      ...(publicBaseUrl === undefined ? [] : [{ url: publicBaseUrl.replace(/\/+$/, '') }]),
      { url: '/', description: 'The address that served this document.' },
    ],
    tags: tags(publicBaseUrl !== undefined),
    externalDocs: guide('first-send', 'First send'),
    paths: paths(settings),
    webhooks: webhooks(),
    components: {
      securitySchemes: {
        apiKey: {
          type: 'http',
          scheme: 'bearer',
          bearerFormat: 'omk_…',
          description:
            'An API key. It has one or more of the permissions `messages:send`, `messages:read`, `endpoints:manage` and `suppressions:manage`.',
        },
      },
      headers,
      schemas: {
        ...bodySchemas(settings.CLIENT_PRIVATE_NETWORKS),
        Accepted: accepted,
        ...timelineSchemas(),
        WebhookReceipt: inputSchema(webhookReceipt),
        ...batchAndListSchemas(),
        ...changeSchemas(),
        ...channelSchemas,
        ...endpointSchemasByName,
        ...suppressionSchemas,
        ...callbackSchemas,
        Index: indexSchema,
        Health: health,
        Error: error,
      },
    },
  }
}

/** Each with the guide about it. */
const tags = (hasMedia: boolean) => [
  {
    name: 'Messages',
    description:
      'Send messages now or later, move and cancel them, list them, and read their state and timeline.',
    externalDocs: guide('first-send', 'First send'),
  },
  {
    name: 'Channels',
    description: 'What an account can send by: its channels, templates and flows.',
    externalDocs: guide('first-send', 'First send'),
  },
  {
    name: 'Endpoints',
    description: 'Where an account gets callbacks about its sends, and how they go.',
    externalDocs: guide('callbacks', 'Callbacks, and how to verify them'),
  },
  {
    name: 'Suppressions',
    description: 'Contacts that get nothing from an account.',
    externalDocs: guide('suppressions', 'Who gets nothing, and why'),
  },
  {
    name: 'Callbacks',
    description: 'Calls to the endpoints of an account.',
    externalDocs: guide('callbacks', 'Callbacks, and how to verify them'),
  },
  {
    name: 'Receipts',
    description: 'What providers report after they have accepted a message.',
    externalDocs: guide('receipts', 'What receipts mean'),
  },
  ...(hasMedia
    ? [
        {
          name: 'Media',
          description: 'Links for providers.',
          externalDocs: guide('media', 'Media'),
        },
      ]
    : []),
  { name: 'Health', description: 'For load balancers.', externalDocs: guide('errors', 'Errors') },
  {
    name: 'Documentation',
    description: 'This document, and the guides.',
    externalDocs: guide('typed-clients', 'Typed clients'),
  },
]

/** A guide at the address by which the document is read. */
const guide = (name: GuideName, description: string) => ({
  url: `${basePlaceholder}/docs/${name}`,
  description,
})

const requestId = { type: 'string', format: 'uuid' }

const accepted = {
  type: 'object',
  description: 'The send is recorded. Its timeline says when the message was sent.',
  properties: { requestId: { ...requestId, description: 'The id of the send. Keep it.' } },
  required: ['requestId'],
  additionalProperties: false,
}

const indexSchema = {
  type: 'object',
  properties: {
    service: { type: 'string', description: 'The name of the service.' },
    docs: { type: 'string', description: 'The reference and the guides.' },
    openapi: { type: 'string', description: 'The OpenAPI document.' },
    health: { type: 'string', description: 'Whether the process is running.' },
    readiness: { type: 'string', description: 'Whether the process takes requests.' },
    send: { type: 'array', items: { type: 'string' }, description: 'The routes that send messages.' },
    cancel: { type: 'string', description: 'The route that cancels a send.' },
    cancelMany: {
      type: 'string',
      description: 'The route that cancels all that waits with a reference, or in a flow.',
    },
    move: { type: 'string', description: 'The route that moves a scheduled send to another time.' },
    read: { type: 'string', description: "The route for a send's state and timeline." },
    list: { type: 'string', description: 'The route that lists sends.' },
    channels: { type: 'string', description: 'The route that lists channels.' },
    flows: { type: 'string', description: 'The route that lists flows.' },
    endpoints: { type: 'string', description: 'The route that lists endpoints.' },
    suppressions: { type: 'string', description: 'The route that lists contacts that get nothing.' },
  },
  required: Object.keys(index),
  additionalProperties: false,
}

const health = {
  type: 'object',
  properties: {
    status: { type: 'string', enum: ['ok'], description: 'All is well.' },
    version: { type: 'string', description: 'The version of the service; of `/healthz` alone.' },
  },
  required: ['status'],
  additionalProperties: false,
}

const error = {
  type: 'object',
  description: 'The body of every error, on every path.',
  properties: {
    statusCode: { type: 'integer', minimum: 400, maximum: 599, description: 'The HTTP status.' },
    error: { type: 'string', description: 'The name of the status.' },
    message: {
      type: 'string',
      description:
        'What is wrong, for people. The wording may change, except for `Channel not found` and `flowId: no such flow`.',
    },
    requestId: { ...requestId, description: 'The id of this request. Quote it when you ask for help.' },
  },
  required: ['statusCode', 'error', 'message', 'requestId'],
  additionalProperties: false,
}

function about({
  MAX_BODY_BYTES: maxBytes,
  RATE_LIMIT_POINTS: points,
  RATE_LIMIT_WINDOW_SECONDS: seconds,
}: DocumentSettings) {
  return `Sends one message to one contact through one of your channels, and records its state and timeline.

- Bodies are JSON in UTF-8, at most ${maxBytes.toLocaleString('en-US')} bytes. An unknown field is refused, at any depth. \`null\` for an
  optional field counts as absent.
- Every answer has the header \`X-Request-Id\`, made by the service. One that you send is ignored.
- Every error, on every path, has the body \`Error\`. A path that is not listed here is a 404 \`No such route.\`; the \`GET\`
  routes also accept \`HEAD\`.
- Ids are opaque: an unknown id is a 404, whatever its form.
- An account may send ${points.toLocaleString('en-US')} requests in ${seconds} s, unless it has a limit of its own.`
}
