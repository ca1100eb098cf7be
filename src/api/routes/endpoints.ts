import { maxLookedAt } from '../../../db/callbacks/callback-pages.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { maxEndpointsOfAccount, testType } from '../../core/callbacks/callback.ts'
import {
  endpointDisabled,
  endpointSchemas,
  notCalledYet,
  resendSchema,
  rotationSchema,
  tooManyEndpoints,
} from '../../core/callbacks/endpoint-request.ts'
import type { Network } from '../../core/requests/public-address.ts'
import { ApiError } from '../errors.ts'
import {
  callbackList,
  createdEndpoint,
  exampleEndpointId as endpointId,
  endpointList,
  exampleCallback,
  exampleEndpoint,
  exampleSecret,
  exampleTry,
  resentCallbacks,
  rotatedSecret,
  shownEndpoint,
  testedCall,
} from './endpoint-answers.ts'
import { exampleIds } from './examples.ts'
import type { Route } from './route.ts'
import { countsAsSend, named, noBody } from './schemas.ts'

export const endpointNotFound = () => new ApiError('endpoint_not_found', 'Endpoint not found')

export const accountIsFull = () => new ApiError('too_many_endpoints', tooManyEndpoints)

export const notTestable = (disabledReason: string | null) =>
  new ApiError('endpoint_disabled', endpointDisabled(disabledReason), {}, 'the endpoint is disabled')

export const notTested = () =>
  new ApiError(
    'endpoint_not_called',
    `${notCalledYet}: its result will be among the callbacks of the endpoint.`,
    {
      'Retry-After': '5',
    },
  )

const { requestId } = exampleIds

const shared = { tag: 'Endpoints', permissions: ['endpoints:manage'], limit: 'request' } as const

const refusals = {
  endpointNotFound: {
    summary: 'The endpoint does not exist, or belongs to another account',
    error: endpointNotFound,
  },
}

const ofOne = {
  ...shared,
  params: { endpointId: { what: 'The endpoint.', example: endpointId } },
  refusals,
} as const

const shown = (what: string) =>
  ({ what, schema: shownEndpoint, example: { requestId, ...exampleEndpoint } }) as const

const faultyFields = (value: object) => ({
  faultyFields: { summary: 'Fields are invalid, missing or unknown', value },
})

const exampleBody = { url: exampleEndpoint.url, events: exampleEndpoint.events }

/** The routes by which an account manages its endpoints. */
export const endpointRoutes = {
  listEndpoints: {
    ...shared,
    method: 'get',
    path: '/v1/endpoints',
    summary: 'List the endpoints of the account, oldest first',
    description: `Where the account gets callbacks about its sends, and how the calls go. ${countsAsSend}`,
    query: accountLists.endpoints,
    answer: {
      what: 'A page of endpoints.',
      schema: endpointList,
      example: { requestId, endpoints: [exampleEndpoint], next: null },
    },
    index: { name: 'endpoints', what: 'The route that lists endpoints.' },
  },
  createEndpoint: {
    ...shared,
    method: 'post',
    path: '/v1/endpoints',
    summary: 'Create an endpoint',
    description: `Its secret is in this answer only. An account has ${maxEndpointsOfAccount} endpoints at most. ${countsAsSend}`,
    isIdempotent: true,
    body: {
      schema: (networks: readonly Network[]) => named('NewEndpoint', endpointSchemas(networks).create),
      examples: {
        all: { summary: 'For all changes', value: { url: exampleEndpoint.url } },
        some: { summary: 'For some changes', value: exampleBody },
      },
      faults: faultyFields({ events: ['sent'], secret: 'mine' }),
    },
    answer: {
      status: 201,
      what: 'The endpoint is created.',
      schema: createdEndpoint,
      example: { requestId: endpointId, endpointId, secret: exampleSecret },
    },
    refusals: {
      accountIsFull: { summary: 'The account has as many as it may have', error: accountIsFull },
    },
  },
  getEndpoint: {
    ...ofOne,
    method: 'get',
    path: '/v1/endpoints/:endpointId',
    summary: 'Read an endpoint',
    description: `As the list has it. ${countsAsSend}`,
    answer: shown('The endpoint.'),
  },
  updateEndpoint: {
    ...ofOne,
    method: 'patch',
    path: '/v1/endpoints/:endpointId',
    summary: 'Change an endpoint',
    description: `A call that has begun, and those that a worker has read already, still go to the former URL. ${countsAsSend}`,
    body: {
      schema: (networks: readonly Network[]) => named('EndpointChange', endpointSchemas(networks).update),
      examples: { both: { summary: 'URL and types', value: exampleBody } },
      faults: faultyFields({ url: 'http://example.com' }),
    },
    answer: shown('The endpoint as it is now.'),
  },
  deleteEndpoint: {
    ...ofOne,
    method: 'delete',
    path: '/v1/endpoints/:endpointId',
    summary: 'Delete an endpoint',
    description: `Its callbacks go with it, for good. ${countsAsSend}`,
    body: noBody,
    answer: { status: 204, what: 'The endpoint is deleted.' },
  },
  enableEndpoint: {
    ...ofOne,
    method: 'post',
    path: '/v1/endpoints/:endpointId/enable',
    summary: 'Enable an endpoint',
    description: `Call it again, with all callbacks that were kept meanwhile, at once and in order. ${countsAsSend}`,
    body: noBody,
    answer: shown('The endpoint as it is now.'),
  },
  disableEndpoint: {
    ...ofOne,
    method: 'post',
    path: '/v1/endpoints/:endpointId/disable',
    summary: 'Disable an endpoint',
    description: `Calls stop. New and waiting callbacks are kept. ${countsAsSend}`,
    body: noBody,
    answer: shown('The endpoint as it is now.'),
  },
  testEndpoint: {
    ...ofOne,
    method: 'post',
    path: '/v1/endpoints/:endpointId/test',
    summary: 'Call an endpoint, and show its answer',
    description: `It gets \`${testType}\`, whatever types it takes. The answer comes after the first call, which may take 15 s. ${countsAsSend}`,
    body: noBody,
    answer: {
      what: 'What came of the call.',
      schema: testedCall,
      example: { requestId, webhookId: `${requestId}-0`, ...exampleTry },
    },
    refusals: {
      ...refusals,
      notTestable: { summary: 'The endpoint is disabled', error: () => notTestable('by its account') },
      notTested: { summary: 'No worker has called it in time', error: notTested },
    },
  },
  rotateEndpointSecret: {
    ...ofOne,
    method: 'post',
    path: '/v1/endpoints/:endpointId/rotate-secret',
    summary: 'Replace the secret of an endpoint',
    description: `The new secret is in this answer only. Until \`bothSignUntil\`, calls are signed with both secrets. Older secrets stop at once. ${countsAsSend}`,
    body: {
      schema: named('SecretRotation', rotationSchema),
      isOptional: true,
      examples: { hour: { summary: 'Both sign for an hour', value: { overlapSeconds: 3600 } } },
      faults: faultyFields({ overlapSeconds: 1_000_000 }),
    },
    answer: {
      what: 'The secret is replaced.',
      schema: rotatedSecret,
      example: { requestId, endpointId, secret: exampleSecret, bothSignUntil: '2026-11-22T12:43:12.301Z' },
    },
  },
  resendCallbacks: {
    ...ofOne,
    method: 'post',
    path: '/v1/endpoints/:endpointId/resend',
    summary: 'Send callbacks of an endpoint again',
    description: `Callbacks of changes since a time that were delivered or given up, in order, each with its \`webhook-id\`. The answer comes when all are marked. ${countsAsSend}`,
    body: {
      schema: named('CallbackResend', resendSchema),
      examples: {
        givenUp: { summary: 'What was given up in two days', value: { since: '2d', only: 'given-up' } },
        all: { summary: 'All since a time', value: { since: '2026-11-21T14:00:00Z' } },
      },
      faults: faultyFields({ since: 'yesterday', only: 'failed' }),
    },
    answer: {
      what: 'They are sent again.',
      schema: resentCallbacks,
      example: { requestId, resent: 3 },
    },
  },
  listCallbacks: {
    ...ofOne,
    method: 'get',
    path: '/v1/endpoints/:endpointId/callbacks',
    summary: 'List the callbacks of an endpoint, newest first',
    description: `The callbacks of the endpoint, made and waiting, with its answers. A page looks at no more than ${maxLookedAt.toLocaleString('en-US')} callbacks, so with \`state\` it may be short: go on until \`next\` is null. ${countsAsSend}`,
    query: accountLists.callbacks,
    answer: {
      what: 'A page of callbacks.',
      schema: callbackList,
      example: { requestId, callbacks: [exampleCallback], next: null },
    },
  },
} as const satisfies Record<string, Route>
