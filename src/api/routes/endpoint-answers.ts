import { z } from 'zod'
import { countedWaiting } from '../../../db/callbacks/endpoints.ts'
import { callbackStates, ceilingType, eventTypes, testType } from '../../core/callbacks/callback.ts'
import { exampleIds } from './examples.ts'
import { count, listOf, named, ofRequest, text, time, timeText, uuid } from './schemas.ts'

const endpointFields = {
  endpointId: uuid('The id of the endpoint.'),
  url: text('The address that is called.'),
  events: z
    .array(z.enum(eventTypes))
    .min(1)
    .nullable()
    .describe(
      `The types of callbacks that it gets. Null for all about sends, also those of later releases; \`${ceilingType}\` comes only if it is named.`,
    ),
  createdAt: time('When it was created.'),
  disabledAt: time('Since when it is disabled: it gets no calls, and its callbacks are kept.').nullable(),
  disabledReason: text('Why it is disabled.').nullable(),
  failingSince: time('Since when its calls have failed, without a 2xx in between.').nullable(),
  answeredAt: time('When it last answered with a 2xx, accurate to a minute.').nullable(),
  breakerOpenUntil: time('Until when it gets no call, because its calls keep failing.').nullable(),
  waiting: z
    .int()
    .min(0)
    .max(countedWaiting)
    .describe(
      `How many callbacks wait for it; ${countedWaiting.toLocaleString('en-US')} stands for as many or more.`,
    ),
}

const about = 'Where the account gets callbacks.'
const endpoint = named('Endpoint', z.object(endpointFields).describe(about))
export const shownEndpoint = named(
  'ShownEndpoint',
  z.object({ ...ofRequest, ...endpointFields }).describe(about),
)
export const endpointList = named('EndpointList', listOf('endpoints', endpoint))

const secret = 'Signs the callbacks, by Standard Webhooks. It is in this answer only: keep it.'

export const createdEndpoint = named(
  'CreatedEndpoint',
  z.object({
    ...ofRequest,
    endpointId: endpointFields.endpointId,
    secret: text(`${secret} A repeat by its Idempotency-Key has none.`).optional(),
  }),
)

export const rotatedSecret = named(
  'RotatedSecret',
  z
    .object({
      ...ofRequest,
      endpointId: endpointFields.endpointId,
      secret: text(secret),
      bothSignUntil: time('Until when calls are signed with both secrets.'),
    })
    .describe('The new secret.'),
)

const tryFields = {
  at: timeText('When the call ended.'),
  status: z.int().nullable().describe('The HTTP status of the answer; null without one.'),
  reason: text('Why there was no answer; null with one.').nullable(),
  durationMs: count('How long the call took, in milliseconds.'),
}

export const testedCall = named(
  'TestedCall',
  z
    .object({ ...ofRequest, webhookId: text('The `webhook-id` of the call.'), ...tryFields })
    .describe('What came of the first call.'),
)

export const resentCallbacks = named(
  'ResentCallbacks',
  z
    .object({ ...ofRequest, resent: count('How many are sent again.') })
    .describe('How many callbacks are sent again.'),
)

const callbackTry = named('CallbackTry', z.object(tryFields).describe('A call of the endpoint.'))

const callback = named(
  'OwnCallback',
  z
    .object({
      webhookId: text('The `webhook-id` of its calls.'),
      requestId: uuid(
        `The send; of a test, the request that made it; of \`${ceilingType}\`, an id of its own.`,
      ),
      sequence: count('The number of the change; 0 for one about no send.'),
      type: z.enum([...eventTypes, testType]).describe('The type.'),
      at: time('When the change was recorded.'),
      state: z
        .enum(callbackStates)
        .describe(
          '`waiting` for a call, the first or another; `delivered` after a 2xx; `given_up` after the last try.',
        ),
      tries: z.array(callbackTry).describe('The last calls, the oldest first.'),
      nextTryAt: time('When it is called next, at the earliest; null unless it waits.').nullable(),
    })
    .describe('A callback of the endpoint.'),
)
export const callbackList = named('CallbackList', listOf('callbacks', callback, 'newest first'))

const { requestId } = exampleIds

export const exampleEndpointId = '01a1fde2-5b1e-7a64-9d0c-3f1f0f6a2b17'
export const exampleSecret = 'whsec_c2VjcmV0IG9mIHRoZSBleGFtcGxlLCBvZiBubyB1c2U='
export const exampleTry = { at: '2026-11-21T12:43:12.301Z', status: 200, reason: null, durationMs: 87 }
export const exampleEndpoint = {
  endpointId: exampleEndpointId,
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
export const exampleCallback = {
  webhookId: `${requestId}-1`,
  requestId,
  sequence: 1,
  type: 'message.failed',
  at: '2026-11-21T12:43:12.123Z',
  state: 'delivered',
  tries: [exampleTry],
  nextTryAt: null,
}
