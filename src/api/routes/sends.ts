import { z } from 'zod'
import { contentIssue } from '../../core/messages/media-content.ts'
import { variableIssues } from '../../core/messages/template.ts'
import { withPaths } from '../../core/requests/issues.ts'
import { sendIssue } from '../../core/sends/send-issue.ts'
import { maxMessages, sendRequestSchemas } from '../../core/sends/send-request.ts'
import { once } from '../../platform/memory/once.ts'
import { providers } from '../../providers/index.ts'
import { ApiError } from '../errors.ts'
import { flowNotFound } from '../send/check-against-channel.ts'
import { ceilingReached } from '../send/check-ceilings.ts'
import { contentRefused } from '../send/check-media-content.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import { beyondWholeLimit } from '../send/rate-limit.ts'
import { dryRun } from './dry-runs.ts'
import { exampleBodies, exampleIds } from './examples.ts'
import type { Example, Refusals, Route } from './route.ts'
import { named, uuid } from './schemas.ts'

const accepted = named(
  'Accepted',
  z
    .strictObject({ requestId: uuid('The id of the send. Keep it.') })
    .describe('The send is recorded. Its timeline says when the message was sent.'),
)

const acceptedBatch = named(
  'AcceptedBatch',
  z
    .strictObject({
      requestId: uuid('The id of this request. It is no send.'),
      messages: z.array(accepted).describe('The sends, in the order of the messages.'),
    })
    .describe('All sends of the batch are recorded.'),
)

/** Schemas for the document alone: body-steps.ts has them with the private networks of the settings. */
const schemas = once(() => sendRequestSchemas([]))

const { requestId, channelId } = exampleIds
const { contact, message } = exampleBodies.text.value

/** Mistyped names, and media without content. */
const faultyBody = {
  channelId: '',
  contact,
  message: { type: 'media', media: { mediaType: 'image' } },
  closeConversaton: true,
}

const faults = {
  faulty: { summary: 'Fields are invalid or unknown', value: faultyBody },
  missing: { summary: 'Fields are missing', value: {} },
  incompatible: {
    summary: 'Content of another type',
    value: { channelId: '', contact, message: { ...message, template: { name: 'welcome' } } },
  },
}

const examplesWith = (fields: object): Record<string, Example> =>
  Object.fromEntries(
    Object.entries(exampleBodies).map(([name, { summary, value }]) => [
      name,
      { summary, value: { ...fields, ...value } },
    ]),
  )

/** Refusals of a body by what its channel takes. */
const contentRefusals: Refusals = {
  noFlow: { summary: 'The flow does not exist, or belongs to another account', error: flowNotFound },
  tooMuchForChannel: { summary: "Exceeds a limit of the channel's provider", error: tooLongForItsChannel },
  wrongVariables: {
    summary: "The variables don't match the template",
    error: () =>
      new ApiError('invalid_template', variableIssues(['name'], [{ key: 'nmae', value: 'Ann' }]).join('; ')),
  },
  otherContent: {
    summary: 'The content of a media is not of its type',
    error: () => contentRefused(contentIssue('video', 'image/png') ?? ''),
  },
}

const beyondCeiling: Refusals = {
  beyondCeiling: {
    summary: 'The account or the channel may send no more in this period',
    error: () =>
      ceilingReached({ amount: 10_000, unit: 'messages', period: 'day' }, 'account', new Date('2026-11-22')),
  },
}

const refusals: Refusals = {
  ...contentRefusals,
  ...dryRun.refusals,
  ...beyondCeiling,
  channelNotFound: {
    summary: 'The channel does not exist, or belongs to another account',
    error: channelNotFound,
  },
}

function tooLongForItsChannel(): ApiError {
  const [rules] = Object.values(providers).sort((a, b) => a.maxTextCharacters - b.maxTextCharacters)
  if (!rules) throw new Error('There is no provider')
  const value = 'a'.repeat(rules.maxTextCharacters + 1)
  const contact = { type: 'phone', value: '+4915112345678' } as const
  const send = { contact, message: { type: 'text', text: { value } }, hasPublicUrl: true } as const
  return new ApiError('unsupported_by_channel', sendIssue(rules, send) ?? '')
}

/** The refusals of a batch of one message. */
const inBatch = (single: Refusals): Refusals =>
  Object.fromEntries(
    Object.entries(single).map(([name, { summary, error }]) => [
      name,
      {
        summary,
        error(settings) {
          const { code, message } = error(settings)
          return new ApiError(code, withPaths(message, 0, false))
        },
      },
    ]),
  )

const shared = {
  method: 'post',
  tag: 'Messages',
  permissions: ['messages:send'],
  limit: 'send',
  isIdempotent: true,
  query: dryRun.query,
} as const

const ofOne = {
  ...shared,
  description:
    "Checks the key, the permission, the body, the channel, the channel's own limits, the Idempotency-Key and the rate limit, in this order, and answers with the first error. With `dryRun=true` it checks the same, and answers what would become of the message.",
  answer: { status: 202, what: 'The send is recorded.', schema: accepted, example: { requestId } },
  dryRunAnswer: dryRun.ofOne,
  refusals,
  index: { name: 'send', what: 'The routes that send messages.' },
} as const

/** The routes that accept sends. Their steps are in src/api/send-message.ts and messages/send-batch.ts. */
export const sendRoutes = {
  sendMessage: {
    ...ofOne,
    path: '/v1/messages',
    summary: 'Send a message; the channel is in the body',
    body: {
      schema: () => named('SendRequest', schemas().channelInBody),
      examples: examplesWith({ channelId }),
      faults,
    },
  },
  sendMessageOnChannel: {
    ...ofOne,
    path: '/v1/channels/:channelId/messages',
    summary: 'Send a message; the channel is in the path',
    params: { channelId: { what: 'The channel that sends the message.', example: channelId } },
    body: {
      schema: () => named('ChannelSendRequest', schemas().channelInPath),
      examples: examplesWith({}),
      faults,
    },
  },
  sendBatch: {
    ...shared,
    path: '/v1/messages/batch',
    summary: `Send up to ${maxMessages} messages, all or none`,
    description:
      'Each message is a body of `POST /v1/messages`, and is checked like one. All are recorded in one transaction, or none: a 400 names the faulty ones. The batch counts as its number of messages for the rate limit. An Idempotency-Key is for the whole batch. With `dryRun=true` nothing is recorded.',
    body: {
      schema: () => named('BatchRequest', schemas().batch),
      examples: {
        two: {
          summary: 'One now, one later',
          value: {
            messages: [exampleBodies.text, exampleBodies.later].map(({ value }) => ({ channelId, ...value })),
          },
        },
      },
      faults: {
        faulty: {
          summary: 'Messages have invalid or unknown fields',
          value: { messages: [{ ...faultyBody, contact: { value: '12' } }] },
        },
      },
    },
    answer: {
      status: 202,
      what: 'All sends are recorded.',
      schema: acceptedBatch,
      example: {
        requestId,
        messages: [{ requestId: exampleIds.flowId }, { requestId: exampleIds.conversationId }],
      },
    },
    dryRunAnswer: dryRun.ofBatch,
    refusals: {
      ...inBatch(contentRefusals),
      ...dryRun.refusals,
      ...beyondCeiling,
      channelsNotFound: {
        summary: 'Channels do not exist, or belong to another account',
        error: () => new ApiError('invalid_body', `messages[3].channelId: ${channelNotFound().message}`),
      },
      beyondWholeLimit: {
        summary: 'More messages than the rate limit ever allows',
        error: () => beyondWholeLimit({ points: 50, seconds: 60 }),
      },
    },
    index: ofOne.index,
  },
} as const satisfies Record<string, Route>
