import { accountLists } from '../../core/accounts/account-lists.ts'
import { channelStatuses, failingReason } from '../../core/channels/channel-status.ts'
import { contactTypes } from '../../core/contacts/contact.ts'
import { messageTypes } from '../../core/messages/message.ts'
import { providerNames } from '../../core/providers/index.ts'
import { fallbackCauses } from '../../core/sends/fallback.ts'
import { refusalsOfChannel, refusalsOfChannels, refusalsOfTemplates } from './account-refusals.ts'
import { exampleIds } from './examples.ts'
import { listOf, ofRequest, text, textOrNull, timeOrNull, uuid, whole } from './fields.ts'
import { type JsonSchema, ref } from './json-schema.ts'
import { inPath, inQuery, type Operation, type PathSettings } from './operation.ts'
import { answer, countedRequest, rateLimitHeaders, refused } from './responses.ts'

const channel: Record<string, JsonSchema> = {
  channelId: uuid('The id of the channel.'),
  name: text('Its name, as its operator gave it.'),
  provider: text('The provider that takes its messages.', { enum: providerNames }),
  contactTypes: {
    type: 'array',
    items: { type: 'string', enum: contactTypes },
    description: 'The types of contacts that it takes.',
  },
  messageTypes: {
    type: 'array',
    items: { type: 'string', enum: messageTypes },
    description: 'The types of messages that it takes.',
  },
  status: text(
    '`ready`; `failing` while its circuit breaker is open; `held` while an operator, or a refusal of the provider, holds it. Sends are accepted in each of them, and wait.',
    { enum: channelStatuses },
  ),
  statusSince: timeOrNull('Since when it is `failing` or `held`; null if it is `ready`.'),
  statusReason: textOrNull('Why it is `failing` or `held`; null if it is `ready`.'),
}

const fallback: JsonSchema = {
  type: 'object',
  description: 'The channel by which its sends go on that it could not deliver. Absent if it has none.',
  required: ['channelId', 'on', 'withinSeconds'],
  properties: {
    channelId: uuid('The id of that channel.'),
    on: {
      type: 'array',
      items: { type: 'string', enum: fallbackCauses },
      description: 'After what: the send `failed`, or the provider reported it as `undelivered`.',
    },
    withinSeconds: { type: 'integer', minimum: 1, description: 'No later than this after their accept.' },
  },
}

/** Only a channel that has one shows it. */
const withFallback = (schema: JsonSchema): JsonSchema => ({
  ...schema,
  properties: { ...schema.properties, fallback },
})

const template: Record<string, JsonSchema> = {
  name: text('The name that sends use.'),
  variables: {
    type: 'array',
    items: ref('RegisteredVariable'),
    description: 'The variables that a send gives.',
  },
  setAt: text('When it was registered, or last changed.', { format: 'date-time' }),
}

const variable: Record<string, JsonSchema> = {
  key: text('The key of the variable.'),
  required: { type: 'boolean', description: 'Whether a send has to give it.' },
}

const flow: Record<string, JsonSchema> = {
  flowId: uuid('The id of the flow.'),
  name: text('Its name, as its operator gave it.'),
}

/** The schemas of channels, templates and flows, by name. Not strict, because fields may be added. */
export const channelSchemas: Record<string, JsonSchema> = {
  Channel: withFallback(whole(channel, 'A channel of the account.')),
  ShownChannel: withFallback(whole({ ...ofRequest, ...channel }, 'A channel of the account.')),
  ChannelList: listOf('channels', 'Channel'),
  RegisteredTemplate: whole(template, 'A template that is registered with a channel.'),
  RegisteredVariable: whole(variable, 'A variable of a registered template.'),
  TemplateList: listOf('templates', 'RegisteredTemplate'),
  Flow: whole(flow, 'A flow of the account.'),
  FlowList: listOf('flows', 'Flow'),
}

const exampleChannel = {
  channelId: exampleIds.channelId,
  name: 'SMS Germany',
  provider: providerNames[0],
  contactTypes: ['phone'],
  messageTypes: ['text', 'template', 'media'],
  status: 'failing',
  statusSince: '2026-11-21T11:40:02.113Z',
  statusReason: failingReason,
}

const exampleTemplate = {
  name: 'welcome',
  variables: [{ key: 'name', required: true }],
  setAt: '2026-11-20T09:12:44.301Z',
}

const reads = [{ apiKey: ['messages:send'] }, { apiKey: ['messages:read'] }]
const { requestId } = exampleIds
const counts = 'Counts for the rate limit as a send.'

/** The routes of channels, templates and flows. */
export function channelPaths(settings: PathSettings): Record<string, { get: Operation }> {
  const base = { tags: ['Channels'], security: reads }
  const ofChannel = inPath('channelId', 'The channel.', exampleIds.channelId)
  const list = (what: string, schema: string, example: object) =>
    answer(`A page of ${what}.`, schema, { requestId, ...example, next: null }, rateLimitHeaders)
  return {
    '/v1/channels': {
      get: {
        ...base,
        operationId: 'listChannels',
        summary: 'List the channels of the account, oldest first',
        description: `Their ids, what they take, and whether they work. Without their configs. ${counts}`,
        parameters: inQuery(accountLists.channels.parameters),
        responses: {
          200: list('channels', 'ChannelList', { channels: [exampleChannel] }),
          ...refused(refusalsOfChannels(settings), countedRequest),
        },
      },
    },
    '/v1/channels/{channelId}': {
      get: {
        ...base,
        operationId: 'getChannel',
        summary: 'Read a channel',
        description: `As the list has it. ${counts}`,
        parameters: [ofChannel],
        responses: {
          200: answer('The channel.', 'ShownChannel', { requestId, ...exampleChannel }, rateLimitHeaders),
          ...refused(refusalsOfChannel(settings), countedRequest),
        },
      },
    },
    '/v1/channels/{channelId}/templates': {
      get: {
        ...base,
        operationId: 'listTemplates',
        summary: 'List the templates of a channel, oldest first',
        description: `Those that are registered with it, and the variables that a send gives. A template that is changed becomes the newest. ${counts}`,
        parameters: [ofChannel, ...inQuery(accountLists.templates.parameters)],
        responses: {
          200: list('templates', 'TemplateList', { templates: [exampleTemplate] }),
          ...refused(refusalsOfTemplates(settings), countedRequest),
        },
      },
    },
    '/v1/flows': {
      get: {
        ...base,
        operationId: 'listFlows',
        summary: 'List the flows of the account, oldest first',
        description: `A send may name one as \`flowId\`. ${counts}`,
        parameters: inQuery(accountLists.flows.parameters),
        responses: {
          200: list('flows', 'FlowList', { flows: [{ flowId: exampleIds.flowId, name: 'Orders' }] }),
          ...refused(refusalsOfChannels(settings), countedRequest),
        },
      },
    },
  }
}
