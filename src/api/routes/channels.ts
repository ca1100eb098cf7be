import { z } from 'zod'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { channelStatuses, failingReason } from '../../core/channels/channel-status.ts'
import { contactTypes } from '../../core/contacts/contact.ts'
import { messageTypes } from '../../core/messages/message.ts'
import { encodings } from '../../core/messages/segments.ts'
import { fallbackCauses } from '../../core/sends/fallback.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import { exampleIds } from './examples.ts'
import type { Route } from './route.ts'
import { countsAsSend, listOf, named, ofRequest, text, time, uuid } from './schemas.ts'

const fallback = z
  .object({
    channelId: uuid('The id of that channel.'),
    on: z
      .array(z.enum(fallbackCauses))
      .describe('After what: the send `failed`, or the provider reported it as `undelivered`.'),
    withinSeconds: z.int().min(1).describe('No later than this after their accept.'),
  })
  .describe('The channel by which its sends go on that it could not deliver. Absent if it has none.')

const channelFields = {
  channelId: uuid('The id of the channel.'),
  name: text('Its name, as its operator gave it.'),
  provider: text('The provider that takes its messages.'),
  contactTypes: z.array(z.enum(contactTypes)).describe('The types of contacts that it takes.'),
  messageTypes: z.array(z.enum(messageTypes)).describe('The types of messages that it takes.'),
  status: z
    .enum(channelStatuses)
    .describe(
      '`ready`; `failing` while its circuit breaker is open; `held` while an operator, or a refusal of the provider, holds it. Sends are accepted in each of them, and wait.',
    ),
  statusSince: time('Since when it is `failing` or `held`; null if it is `ready`.').nullable(),
  statusReason: text('Why it is `failing` or `held`; null if it is `ready`.').nullable(),
  fallback: fallback.optional(),
}

const channel = named('Channel', z.object(channelFields).describe('A channel of the account.'))

const variable = named(
  'RegisteredVariable',
  z
    .object({
      key: text('The key of the variable.'),
      required: z.boolean().describe('Whether a send has to give it.'),
    })
    .describe('A variable of a registered template.'),
)

const template = named(
  'RegisteredTemplate',
  z
    .object({
      name: text('The name that sends use.'),
      variables: z.array(variable).describe('The variables that a send gives.'),
      segments: z
        .int()
        .nullable()
        .describe(
          'How many segments its text takes as SMS, without its variables. Null if the channel sends no SMS, or only the provider knows the text.',
        ),
      encoding: z.enum(encodings).nullable().describe('The encoding of that SMS; null as `segments` is.'),
      setAt: time('When it was registered, or last changed.'),
    })
    .describe('A template that is registered with a channel.'),
)

const flow = named(
  'Flow',
  z
    .object({ flowId: uuid('The id of the flow.'), name: text('Its name, as its operator gave it.') })
    .describe('A flow of the account.'),
)

const { requestId, channelId, flowId } = exampleIds

const exampleChannel = {
  channelId,
  name: 'Order updates',
  provider: 'telnyx',
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  status: 'failing',
  statusSince: '2026-11-21T11:40:02.113Z',
  statusReason: failingReason,
}

const exampleTemplate = {
  name: 'welcome',
  variables: [{ key: 'name', required: true }],
  segments: 1,
  encoding: 'gsm-7',
  setAt: '2026-11-20T09:12:44.301Z',
}

export const noSuchChannel = {
  summary: 'The channel does not exist, or belongs to another account',
  error: channelNotFound,
}

const params = { channelId: { what: 'The channel.', example: channelId } }

const shared = {
  tag: 'Channels',
  method: 'get',
  permissions: ['messages:send', 'messages:read'],
  limit: 'request',
} as const

/** The routes of what an account can send by: its channels with their templates, and its flows. */
export const channelRoutes = {
  listChannels: {
    ...shared,
    path: '/v1/channels',
    summary: 'List the channels of the account, oldest first',
    description: `Their ids, what they take, and whether they work. Without their configs. ${countsAsSend}`,
    query: accountLists.channels,
    answer: {
      what: 'A page of channels.',
      schema: named('ChannelList', listOf('channels', channel)),
      example: { requestId, channels: [exampleChannel], next: null },
    },
    index: { name: 'channels', what: 'The route that lists channels.' },
  },
  getChannel: {
    ...shared,
    path: '/v1/channels/:channelId',
    summary: 'Read a channel',
    description: `As the list has it. ${countsAsSend}`,
    params,
    answer: {
      what: 'The channel.',
      schema: named(
        'ShownChannel',
        z.object({ ...ofRequest, ...channelFields }).describe('A channel of the account.'),
      ),
      example: { requestId, ...exampleChannel },
    },
    refusals: { noSuchChannel },
  },
  listTemplates: {
    ...shared,
    path: '/v1/channels/:channelId/templates',
    summary: 'List the templates of a channel, oldest first',
    description: `Templates that are registered with it, and the variables that a send gives. A template that is changed becomes the newest. ${countsAsSend}`,
    params,
    query: accountLists.templates,
    answer: {
      what: 'A page of templates.',
      schema: named('TemplateList', listOf('templates', template)),
      example: { requestId, templates: [exampleTemplate], next: null },
    },
    refusals: { noSuchChannel },
  },
  listFlows: {
    ...shared,
    path: '/v1/flows',
    summary: 'List the flows of the account, oldest first',
    description: `A send may name one as \`flowId\`. ${countsAsSend}`,
    query: accountLists.flows,
    answer: {
      what: 'A page of flows.',
      schema: named('FlowList', listOf('flows', flow)),
      example: { requestId, flows: [{ flowId, name: 'Orders' }], next: null },
    },
    index: { name: 'flows', what: 'The route that lists flows.' },
  },
} as const satisfies Record<string, Route>
