import { z } from 'zod'
import { maxCanceled } from '../../../db/sends/cancel-sets.ts'
import { maxLookedAt } from '../../../db/sends/list.ts'
import { sentMailFields, sentMessageFields } from '../../core/messages/sent-message.ts'
import { cancelRequest, moveRequest } from '../../core/requests/change-requests.ts'
import { includeParameters, readIncludeQuery } from '../../core/requests/include-query.ts'
import { listParameters, readListQuery } from '../../core/requests/list-query.ts'
import { unreachableIssue } from '../../core/sends/send-issue.ts'
import { type SendStatus, type TimelineEvent, timelineFields } from '../../core/sends/timeline.ts'
import { providers } from '../../providers/index.ts'
import { tooLarge } from '../body/receive.ts'
import { ApiError } from '../errors.ts'
import { jsonRefusals } from './body-refusals.ts'
import { exampleBodies, exampleIds, exampleTimeline } from './examples.ts'
import type { Route } from './route.ts'
import { count, listOf, named, ofRequest, text } from './schemas.ts'

/** Of each of the two tables. */
const lookedAt = maxLookedAt.toLocaleString('en-US')

export const messageNotFound = () => new ApiError('message_not_found', 'Message not found')

export const notCancelable = (status: SendStatus) =>
  new ApiError('not_cancelable', `The send is ${status}: only one that waits can be canceled.`)

export const notMovable = (status: SendStatus) =>
  new ApiError(
    'not_movable',
    `The send is ${status === 'queued' ? 'due' : status}: only one that waits for its time can be moved.`,
  )

function notReached(): ApiError {
  const rules = Object.values(providers).find(({ contactTypes }) => !contactTypes.includes('email'))
  if (!rules) throw new Error('Every provider reaches all contacts')
  const contact = { type: 'email', value: 'ann@example.com' } as const
  return new ApiError('unsupported_by_channel', unreachableIssue(rules, contact, {}) ?? '')
}

export const wantsNoBody = () => new ApiError('invalid_body', 'body: has to be absent, or {}')

export const mediaNotFound = () => new ApiError('media_not_found', 'No such media, or its link has expired.')

const { events, ...summaryFields } = {
  ...timelineFields,
  contact: named('KnownContact', timelineFields.contact),
}

const timeline = named(
  'Timeline',
  // The forms of events are in openapi/timeline.ts.
  z.object({
    ...summaryFields,
    events: z.array(named('TimelineEvent', z.custom<TimelineEvent>())).describe(events.description ?? ''),
    message: z
      .object(sentMessageFields)
      .nullable()
      .describe('With `include=message`: what was sent. Null once it was erased.')
      .optional(),
    email: z
      .object(sentMailFields)
      .nullable()
      .describe('With `include=message`: the `email` of the request. Null if it had none, or was erased.')
      .optional(),
  }),
)
const summary = named(
  'SendSummary',
  z.object(summaryFields).describe('A send as in its timeline, without the events.'),
)

const canceledSend = named(
  'CanceledSend',
  z.object({
    requestId: timelineFields.requestId,
    status: z
      .enum(['canceled', 'uncertain'])
      .describe(
        '`uncertain` if an earlier attempt may have got through. In both cases nothing more is sent.',
      ),
  }),
)

const canceledSends = named(
  'CanceledSends',
  z.object({
    ...ofRequest,
    canceled: count('How many are canceled.'),
    uncertain: count(
      'How many are `uncertain`, because an earlier attempt may have got through. Nothing more is sent.',
    ),
    tooLate: count('How many were being sent at that moment. They go on.'),
    next: text('The value of `after` to go on with. Null if none was left.').nullable(),
  }),
)

const { requestId, flowId } = exampleIds
const { sendAt, reference } = exampleBodies.later.value
const { events: _, ...exampleSummary } = exampleTimeline
const exampleMoved = {
  ...exampleSummary,
  status: 'queued',
  conversationId: null,
  finishedAt: null,
  attempts: 0,
  providerMessageId: null,
  sendAt: new Date(sendAt).toISOString(),
  reference,
}

const params = { requestId: { what: "The `requestId` of the send's 202.", example: requestId } }
const noSuchMessage = { summary: 'No send of the account has this id', error: messageNotFound }
const changes = { tag: 'Messages', permissions: ['messages:send'] } as const
const reads = { method: 'get', tag: 'Messages', permissions: ['messages:read'], limit: 'read' } as const
const faulty = (value: object) => ({ summary: 'Fields are invalid or unknown', value })

/** The routes by which an account reads and changes its sends, and the links of their media. */
export const messageRoutes = {
  cancelMessages: {
    ...changes,
    method: 'post',
    path: '/v1/messages/cancel',
    summary: 'Cancel all that waits with a reference, or in a flow',
    description: `At most ${maxCanceled.toLocaleString('en-US')} sends, the oldest first: go on until \`next\` is null. Each is canceled as by a request of its own. After a 200, their providers are not called any more. A repeat finds nothing more to cancel.`,
    body: {
      schema: named('CancelRequest', cancelRequest),
      examples: {
        reference: { summary: 'With a reference', value: { reference } },
        flow: { summary: 'In a flow', value: { flowId } },
      },
      faults: {
        neither: { summary: 'Neither a reference nor a flow', value: {} },
        faulty: faulty({ reference: '', flow: '' }),
      },
    },
    answer: {
      what: 'Nothing more of them is sent.',
      schema: canceledSends,
      example: { requestId, canceled: 4711, uncertain: 0, tooLate: 2, next: null },
    },
    index: {
      name: 'cancelMany',
      what: 'The route that cancels all that waits with a reference, or in a flow.',
    },
  },
  listMessages: {
    ...reads,
    path: '/v1/messages',
    summary: 'List the sends of the account, newest first',
    description: `Ordered by acceptance time, including scheduled sends. A page may have fewer than \`limit\` sends, or none, since it looks at no more than ${lookedAt} scheduled and ${lookedAt} other sends: go on until \`next\` is null. Each send that is there from the first page to the last is on exactly one. Reading doesn't count for the account's rate limit, but for the limit of the key.`,
    query: { parameters: listParameters, readQuery: readListQuery },
    answer: {
      what: 'A page of sends.',
      schema: named('SendList', listOf('messages', summary, 'newest first')),
      example: { requestId, messages: [exampleSummary], next: 'AAZg-x3_W1MBof3jBLBwnr7AuUDMevPA' },
    },
    index: { name: 'list', what: 'The route that lists sends.' },
  },
  getMessage: {
    ...reads,
    permissions: ['messages:read', 'messages:content'],
    path: '/v1/messages/:requestId',
    summary: "Read a send's state and timeline",
    description:
      "The send's state and its timeline. `sent` means accepted by the provider, not delivered to the contact. The permission `messages:read` reads it; with `include=message`, `messages:content` does. Reading doesn't count for the account's rate limit, but for the limit of the key.",
    params,
    query: { parameters: includeParameters, readQuery: readIncludeQuery },
    answer: { what: 'The send and its timeline.', schema: timeline, example: exampleTimeline },
    refusals: { messageNotFound: noSuchMessage },
    index: { name: 'read', what: "The route for a send's state and timeline." },
  },
  moveMessage: {
    ...changes,
    method: 'patch',
    path: '/v1/messages/:requestId',
    summary: 'Move a scheduled send to another time or contact',
    description:
      "Before its time has come. Its place in its contact's order and its expiry count from the new time. Another contact takes the place of the first one, on the same channel. The timeline has the event `scheduled` again.",
    params,
    body: {
      schema: named('MoveRequest', moveRequest),
      examples: {
        later: { summary: 'Another time', value: { sendAt } },
        contact: { summary: 'Another contact', value: { contact: { value: '+4915112345679' } } },
      },
      faults: {
        missing: { summary: 'Neither a time nor a contact', value: {} },
        faulty: faulty({ sendAt: 'tomorrow', reference: 'x' }),
      },
    },
    answer: { what: 'It waits for its time.', schema: summary, example: exampleMoved },
    refusals: {
      messageNotFound: noSuchMessage,
      otherContact: { summary: 'The channel does not reach contacts of this type', error: notReached },
      notMovable: { summary: 'Its time has come, or it has ended', error: () => notMovable('queued') },
    },
    index: { name: 'move', what: 'The route that moves a scheduled send to another time or contact.' },
  },
  cancelMessage: {
    ...changes,
    method: 'post',
    path: '/v1/messages/:requestId/cancel',
    summary: 'Cancel a send that waits',
    description:
      'A scheduled send, or one that is `queued`. After a 200, its provider is not called any more. A repeat gets the same answer, unless the send is `uncertain`.',
    params,
    answer: {
      what: 'Nothing more is sent.',
      schema: canceledSend,
      example: { requestId, status: 'canceled' },
    },
    refusals: {
      ...jsonRefusals,
      tooLarge: {
        summary: 'The body is too large',
        error: ({ MAX_BODY_BYTES }) => tooLarge(MAX_BODY_BYTES),
      },
      content: { summary: 'The body is not empty', error: wantsNoBody },
      messageNotFound: noSuchMessage,
      notCancelable: { summary: 'The send is being sent, or has ended', error: () => notCancelable('sent') },
    },
    index: { name: 'cancel', what: 'The route that cancels a send.' },
  },
} as const satisfies Record<string, Route>
