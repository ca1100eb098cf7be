import { countedWaiting } from '../../../db/callbacks/endpoints.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import {
  callbackStates,
  maxEndpointsOfAccount,
  sendChangeTypes,
  testType,
} from '../../core/callbacks/callback.ts'
import {
  ofEndpoint,
  refusalsOfCreate,
  refusalsOfEndpoints,
  refusalsOfTest,
  withBody,
  withNoBody,
  withPage,
} from './account-refusals.ts'
import { exampleIds } from './examples.ts'
import { listOf, ofRequest, text, textOrNull, timeOrNull, uuid, whole } from './fields.ts'
import { type JsonSchema, ref } from './json-schema.ts'
import { idempotencyKey, inPath, inQuery, type Operation, type PathSettings } from './operation.ts'
import { answer, countedRequest, headerRefs, rateLimitHeaders, refused } from './responses.ts'

const url = text(
  '`https`, to a public address; at most 2048 characters, without user, password and fragment. `http` and private addresses only as far as the operator allows it.',
  { maxLength: 2048 },
)
const events: JsonSchema = {
  type: ['array', 'null'],
  items: { type: 'string', enum: sendChangeTypes },
  minItems: 1,
  description: 'The types of callbacks that it gets. Null for all, also those of later releases.',
}

const endpoint: Record<string, JsonSchema> = {
  endpointId: uuid('The id of the endpoint.'),
  url: text('The address that is called.'),
  events,
  createdAt: text('When it was created.', { format: 'date-time' }),
  disabledAt: timeOrNull('Since when it is disabled: it gets no calls, and its callbacks are kept.'),
  disabledReason: textOrNull('Why it is disabled.'),
  failingSince: timeOrNull('Since when its calls have failed, without a 2xx in between.'),
  answeredAt: timeOrNull('When it last answered with a 2xx, accurate to a minute.'),
  breakerOpenUntil: timeOrNull('Until when it gets no call, because its calls keep failing.'),
  waiting: {
    type: 'integer',
    minimum: 0,
    maximum: countedWaiting,
    description: `How many callbacks wait for it; ${countedWaiting.toLocaleString('en-US')} stands for as many or more.`,
  },
}

const callback: Record<string, JsonSchema> = {
  webhookId: text('The `webhook-id` of its calls.'),
  requestId: uuid('The send; of a test, the request that made it.'),
  sequence: { type: 'integer', minimum: 0, description: 'The number of the change; 0 of a test.' },
  type: text('The type.', { enum: [...sendChangeTypes, testType] }),
  at: text('When the change was recorded.', { format: 'date-time' }),
  state: text(
    '`waiting` for a call, the first or another; `delivered` after a 2xx; `given_up` after the last try.',
    {
      enum: callbackStates,
    },
  ),
  tries: { type: 'array', items: ref('CallbackTry'), description: 'The last calls, the oldest first.' },
  nextTryAt: timeOrNull('When it is called next, at the earliest; null unless it waits.'),
}

const callbackTry: Record<string, JsonSchema> = {
  at: text('When the call ended.', { format: 'date-time' }),
  status: { type: ['integer', 'null'], description: 'The HTTP status of the answer; null without one.' },
  reason: textOrNull('Why there was no answer; null with one.'),
  durationMs: { type: 'integer', minimum: 0, description: 'How long the call took, in milliseconds.' },
}

const secret = text('Signs the callbacks, by Standard Webhooks. It is in this answer only: keep it.')

const overlapSeconds: JsonSchema = {
  type: ['integer', 'null'],
  minimum: 0,
  maximum: 604_800,
  default: 86_400,
  description: 'How long calls are signed with the former secret, too.',
}

const strict = (
  properties: Record<string, JsonSchema>,
  required: string[],
  description: string,
): JsonSchema => ({
  type: 'object',
  description,
  properties,
  required,
  additionalProperties: false,
})

/** The schemas of endpoints and their callbacks, by name. */
export const endpointSchemasByName: Record<string, JsonSchema> = {
  NewEndpoint: strict({ url, events }, ['url'], 'An endpoint to create.'),
  EndpointChange: {
    ...strict({ url: { ...url, type: ['string', 'null'] }, events }, [], 'What to change: one at least.'),
    minProperties: 1,
  },
  SecretRotation: strict({ overlapSeconds }, [], 'How to replace the secret.'),
  CallbackResend: strict(
    {
      since: text(
        'Changes since then: a date and time with its offset, such as 2026-11-21T14:00:00Z, or how long ago, such as 90m, 1h or 2d.',
      ),
      only: {
        type: ['string', 'null'],
        enum: ['given-up', null],
        description: '`given-up`: only callbacks that were given up.',
      },
    },
    ['since'],
    'Which callbacks to send again.',
  ),
  NoFields: strict({}, [], 'Nothing.'),
  Endpoint: whole(endpoint, 'Where the account gets callbacks.'),
  ShownEndpoint: whole({ ...ofRequest, ...endpoint }, 'Where the account gets callbacks.'),
  EndpointList: listOf('endpoints', 'Endpoint'),
  CreatedEndpoint: {
    type: 'object',
    properties: {
      ...ofRequest,
      endpointId: uuid('The id of the endpoint.'),
      secret: { ...secret, description: `${secret.description} A repeat by its Idempotency-Key has none.` },
    },
    required: ['requestId', 'endpointId'],
  },
  RotatedSecret: whole(
    {
      ...ofRequest,
      endpointId: uuid('The id of the endpoint.'),
      secret,
      bothSignUntil: text('Until when calls are signed with both secrets.', { format: 'date-time' }),
    },
    'The new secret.',
  ),
  TestedCall: whole(
    { ...ofRequest, webhookId: text('The `webhook-id` of the call.'), ...callbackTry },
    'What came of the first call.',
  ),
  ResentCallbacks: whole(
    { ...ofRequest, resent: { type: 'integer', minimum: 0, description: 'How many are sent again.' } },
    'How many callbacks are sent again.',
  ),
  OwnCallback: whole(callback, 'A callback of the endpoint.'),
  CallbackTry: whole(callbackTry, 'A call of the endpoint.'),
  CallbackList: listOf('callbacks', 'OwnCallback', 'newest first'),
}

const { requestId } = exampleIds
const endpointId = '01a1fde2-5b1e-7a64-9d0c-3f1f0f6a2b17'
const exampleSecret = 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlLCBvZiBubyB1c2U='
const exampleTry = { at: '2026-11-21T12:43:12.301Z', status: 200, reason: null, durationMs: 87 }
const exampleEndpoint = {
  endpointId,
  url: 'https://example.com/callbacks',
  events: ['message.failed', 'message.undelivered'],
  createdAt: '2026-11-20T09:12:44.301Z',
  disabledAt: null,
  disabledReason: null,
  failingSince: null,
  answeredAt: '2026-11-21T12:43:12.301Z',
  breakerOpenUntil: null,
  waiting: 0,
}
const exampleCallback = {
  webhookId: `${requestId}-1`,
  requestId,
  sequence: 1,
  type: 'message.failed',
  at: '2026-11-21T12:43:12.123Z',
  state: 'delivered',
  tries: [exampleTry],
  nextTryAt: null,
}

const counts = 'Counts for the rate limit as a send.'
const ofOne = inPath('endpointId', 'The endpoint.', endpointId)
const base = { tags: ['Endpoints'], security: [{ apiKey: ['endpoints:manage'] }] }

const content = (
  schema: string,
  examples: Record<string, { summary: string; value: object }>,
  required = true,
) => ({
  required,
  content: { 'application/json': { schema: ref(schema), examples } },
})

const noBody = content('NoFields', { none: { summary: 'No body, or this', value: {} } }, false)

const shown = (description: string) =>
  answer(description, 'ShownEndpoint', { requestId, ...exampleEndpoint }, rateLimitHeaders)

const exampleBody = { url: exampleEndpoint.url, events: exampleEndpoint.events }

const ofList = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'listEndpoints',
  summary: 'List the endpoints of the account, oldest first',
  description: `Where the account gets callbacks about its sends, and how the calls go. ${counts}`,
  parameters: inQuery(accountLists.endpoints.parameters),
  responses: {
    200: answer(
      'A page of endpoints.',
      'EndpointList',
      { requestId, endpoints: [exampleEndpoint], next: null },
      rateLimitHeaders,
    ),
    ...refused(refusalsOfEndpoints(settings), countedRequest),
  },
})

const create = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'createEndpoint',
  summary: 'Create an endpoint',
  description: `Its secret is in this answer only. An account has ${maxEndpointsOfAccount} endpoints at most. ${counts}`,
  parameters: [idempotencyKey],
  requestBody: content('NewEndpoint', {
    all: { summary: 'For all changes', value: { url: exampleEndpoint.url } },
    some: { summary: 'For some changes', value: exampleBody },
  }),
  responses: {
    201: answer(
      'The endpoint is created.',
      'CreatedEndpoint',
      { requestId: endpointId, endpointId, secret: exampleSecret },
      [...rateLimitHeaders, 'Idempotent-Replayed'],
    ),
    ...refused(refusalsOfCreate(settings), countedRequest),
  },
})

const ofEach = (settings: PathSettings): Record<'get' | 'patch' | 'delete', Operation> => {
  const methods = ['GET', 'HEAD', 'PATCH', 'DELETE']
  return {
    get: {
      ...base,
      operationId: 'getEndpoint',
      summary: 'Read an endpoint',
      description: `As the list has it. ${counts}`,
      parameters: [ofOne],
      responses: {
        200: shown('The endpoint.'),
        ...refused(ofEndpoint(settings, ...methods), countedRequest),
      },
    },
    patch: {
      ...base,
      operationId: 'updateEndpoint',
      summary: 'Change an endpoint',
      description: `A call that has begun, and those that a worker has read already, still go to the former URL. ${counts}`,
      parameters: [ofOne],
      requestBody: content('EndpointChange', { both: { summary: 'URL and types', value: exampleBody } }),
      responses: {
        200: shown('The endpoint as it is now.'),
        ...refused({ ...ofEndpoint(settings, ...methods), ...withBody('update') }, countedRequest),
      },
    },
    delete: {
      ...base,
      operationId: 'deleteEndpoint',
      summary: 'Delete an endpoint',
      description: `With its callbacks, for good. ${counts}`,
      parameters: [ofOne],
      responses: {
        204: { description: 'The endpoint is deleted.', headers: headerRefs(rateLimitHeaders) },
        ...refused({ ...ofEndpoint(settings, ...methods), ...withNoBody() }, countedRequest),
      },
    },
  }
}

const switchTo = (settings: PathSettings, name: 'enable' | 'disable', description: string): Operation => ({
  ...base,
  operationId: `${name}Endpoint`,
  summary: `${name === 'enable' ? 'Enable' : 'Disable'} an endpoint`,
  description: `${description} ${counts}`,
  parameters: [ofOne],
  requestBody: noBody,
  responses: {
    200: shown('The endpoint as it is now.'),
    ...refused({ ...ofEndpoint(settings, 'POST'), ...withNoBody() }, countedRequest),
  },
})

const test = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'testEndpoint',
  summary: 'Call an endpoint, and show its answer',
  description: `It gets \`${testType}\`, whatever types it takes. The answer comes after the first call, which may take 15 s. ${counts}`,
  parameters: [ofOne],
  requestBody: noBody,
  responses: {
    200: answer(
      'What came of the call.',
      'TestedCall',
      { requestId, webhookId: `${requestId}-0`, ...exampleTry },
      rateLimitHeaders,
    ),
    ...refused({ ...ofEndpoint(settings, 'POST'), ...withNoBody(), ...refusalsOfTest() }, countedRequest),
  },
})

const rotate = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'rotateEndpointSecret',
  summary: 'Replace the secret of an endpoint',
  description: `The new secret is in this answer only. Until \`bothSignUntil\`, calls are signed with both secrets. Older secrets stop at once. ${counts}`,
  parameters: [ofOne],
  requestBody: content(
    'SecretRotation',
    { hour: { summary: 'Both sign for an hour', value: { overlapSeconds: 3600 } } },
    false,
  ),
  responses: {
    200: answer(
      'The secret is replaced.',
      'RotatedSecret',
      { requestId, endpointId, secret: exampleSecret, bothSignUntil: '2026-11-22T12:43:12.301Z' },
      rateLimitHeaders,
    ),
    ...refused({ ...ofEndpoint(settings, 'POST'), ...withBody('rotate') }, countedRequest),
  },
})

const resend = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'resendCallbacks',
  summary: 'Send callbacks of an endpoint again',
  description: `Those of changes since a time that were delivered or given up, in order, each with its \`webhook-id\`. The answer comes when all are marked. ${counts}`,
  parameters: [ofOne],
  requestBody: content('CallbackResend', {
    givenUp: { summary: 'What was given up in two days', value: { since: '2d', only: 'given-up' } },
    all: { summary: 'All since a time', value: { since: '2026-11-21T14:00:00Z' } },
  }),
  responses: {
    200: answer('They are sent again.', 'ResentCallbacks', { requestId, resent: 3 }, rateLimitHeaders),
    ...refused({ ...ofEndpoint(settings, 'POST'), ...withBody('resend') }, countedRequest),
  },
})

const callbacks = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'listCallbacks',
  summary: 'List the callbacks of an endpoint, newest first',
  description: `The callbacks of the endpoint, made and waiting, with its answers. A page looks at no more than 30,000 callbacks, so with \`state\` it may be short: go on until \`next\` is null. ${counts}`,
  parameters: [
    ofOne,
    ...inQuery(accountLists.callbacks.parameters, { state: { type: 'string', enum: callbackStates } }),
  ],
  responses: {
    200: answer(
      'A page of callbacks.',
      'CallbackList',
      { requestId, callbacks: [exampleCallback], next: null },
      rateLimitHeaders,
    ),
    ...refused({ ...ofEndpoint(settings, 'GET', 'HEAD'), ...withPage() }, countedRequest),
  },
})

/** The routes by which an account manages its endpoints. */
export function endpointPaths(settings: PathSettings) {
  const one = '/v1/endpoints/{endpointId}'
  return {
    '/v1/endpoints': { get: ofList(settings), post: create(settings) },
    [one]: ofEach(settings),
    [`${one}/enable`]: {
      post: switchTo(
        settings,
        'enable',
        'Call it again, with all callbacks that were kept meanwhile, at once and in order.',
      ),
    },
    [`${one}/disable`]: {
      post: switchTo(settings, 'disable', 'Calls stop. New and waiting callbacks are kept.'),
    },
    [`${one}/test`]: { post: test(settings) },
    [`${one}/rotate-secret`]: { post: rotate(settings) },
    [`${one}/resend`]: { post: resend(settings) },
    [`${one}/callbacks`]: { get: callbacks(settings) },
  }
}
