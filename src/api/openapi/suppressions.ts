import { accountLists } from '../../core/accounts/account-lists.ts'
import { anyContact, contactTypes } from '../../core/contacts/contact.ts'
import { sentence } from '../../core/explanation/phrases.ts'
import { anyEvent, causes, suppressionCauses } from '../../core/suppression/suppression.ts'
import { refusalsOfSuppress, refusalsOfSuppressions, refusalsOfUnsuppress } from './account-refusals.ts'
import { exampleIds } from './examples.ts'
import { listOf, ofRequest, text, textOrNull, uuid, whole } from './fields.ts'
import { type JsonSchema, ref } from './json-schema.ts'
import { inPath, inQuery, type Operation, type PathSettings } from './operation.ts'
import { answer, countedRequest, headerRefs, rateLimitHeaders, refused } from './responses.ts'

const entry: Record<string, JsonSchema> = {
  suppressionId: uuid('The id of the entry.'),
  contact: {
    type: 'object',
    description: 'Who gets nothing.',
    properties: {
      type: text('The kind of `value`.', { enum: contactTypes }),
      value: text('The contact, normalised; `erased` once it was erased. The suppression stays in force.'),
    },
    required: ['type', 'value'],
  },
  channelId: textOrNull('The channel by which the contact gets nothing; null: by none of the account.'),
  cause: text(
    `Why: ${suppressionCauses.map((cause) => `\`${cause}\` ${causes[cause].documented}`).join('; ')}.`,
    { enum: suppressionCauses },
  ),
  reason: textOrNull('What was written beside it.'),
  createdAt: text('When it was added.', { format: 'date-time' }),
}

const causedBy = {
  requestId: { type: ['string', 'null'], format: 'uuid', description: 'The send that caused it.' },
}

/** The schemas of the list of contacts that get nothing, by name. */
export const suppressionSchemas: Record<string, JsonSchema> = {
  NewSuppression: {
    type: 'object',
    description: 'A contact that is to get nothing.',
    properties: {
      contact: {
        type: 'object',
        description: 'Who is to get nothing.',
        properties: {
          value: text(`${sentence(anyContact)} It is normalised as in a send.`),
          type: {
            type: ['string', 'null'],
            enum: [...contactTypes, null],
            description: 'The kind of `value`. Without it, it is recognised.',
          },
        },
        required: ['value'],
        additionalProperties: false,
      },
      channelId: textOrNull('For this channel alone. Without it, for all of the account.'),
      reason: {
        type: ['string', 'null'],
        minLength: 1,
        maxLength: 500,
        description: 'Why, for those who read the list.',
      },
    },
    required: ['contact'],
    additionalProperties: false,
  },
  Suppression: whole({ ...entry, ...causedBy }, 'A contact that gets nothing.'),
  AddedSuppression: whole({ ...ofRequest, ...entry }, 'The entry.'),
  SuppressionList: listOf('suppressions', 'Suppression'),
}

const { requestId, channelId } = exampleIds
const suppressionId = '01a1fde2-5b1e-7a64-9d0c-3f1f0f6a2b18'
const exampleEntry = {
  suppressionId,
  contact: { type: 'email', value: 'ann@example.com' },
  channelId: null,
  cause: 'manual',
  reason: 'asked by letter',
  createdAt: '2026-11-21T12:43:12.301Z',
}

const counts = 'Counts for the rate limit as a send.'
const base = { tags: ['Suppressions'], security: [{ apiKey: ['suppressions:manage'] }] }

const list = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'listSuppressions',
  summary: 'List the contacts that get nothing, oldest first',
  description: `Those that you or an operator added, and those that were added after ${anyEvent}. ${counts}`,
  parameters: inQuery(accountLists.suppressions.parameters, { contact: { type: 'string' } }),
  responses: {
    200: answer(
      'A page of entries.',
      'SuppressionList',
      { requestId, suppressions: [{ ...exampleEntry, requestId: null }], next: null },
      rateLimitHeaders,
    ),
    ...refused(refusalsOfSuppressions(settings), countedRequest),
  },
})

const add = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'addSuppression',
  summary: 'Send nothing to a contact any more',
  description: `Sends to the contact are accepted, and fail without a call of the provider; those that wait fail within seconds. A call that has begun isn't stopped. Repeating the request returns the existing entry. ${counts}`,
  requestBody: {
    required: true,
    content: {
      'application/json': {
        schema: ref('NewSuppression'),
        examples: {
          all: {
            summary: 'By no channel',
            value: { contact: { value: 'ann@example.com' }, reason: 'asked by letter' },
          },
          one: { summary: 'Not by this channel', value: { contact: { value: '+4915112345678' }, channelId } },
        },
      },
    },
  },
  responses: {
    201: answer(
      'The contact gets nothing.',
      'AddedSuppression',
      { requestId, ...exampleEntry },
      rateLimitHeaders,
    ),
    ...refused(refusalsOfSuppress(settings), countedRequest),
  },
})

const remove = (settings: PathSettings): Operation => ({
  ...base,
  operationId: 'removeSuppression',
  summary: 'Send to a contact again',
  description: `Sends that failed meanwhile stay failed. ${counts}`,
  parameters: [inPath('suppressionId', 'The entry.', suppressionId)],
  responses: {
    204: { description: 'The entry is removed.', headers: headerRefs(rateLimitHeaders) },
    ...refused(refusalsOfUnsuppress(settings), countedRequest),
  },
})

/** The routes by which an account manages its list of contacts that get nothing. */
export function suppressionPaths(settings: PathSettings) {
  return {
    '/v1/suppressions': { get: list(settings), post: add(settings) },
    '/v1/suppressions/{suppressionId}': { delete: remove(settings) },
  }
}
