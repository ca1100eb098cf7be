import { z } from 'zod'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { contactTypes } from '../../core/contacts/contact.ts'
import { anyEvent, causes, suppressionCauses } from '../../core/suppression/suppression.ts'
import { suppressionSchema } from '../../core/suppression/suppression-request.ts'
import { ApiError } from '../errors.ts'
import { noSuchChannel } from './channels.ts'
import { exampleIds } from './examples.ts'
import type { Route } from './route.ts'
import { countsAsSend, listOf, named, noBody, ofRequest, text, timeText, uuid } from './schemas.ts'

export const suppressionNotFound = () => new ApiError('suppression_not_found', 'Suppression not found')

const contact = z
  .object({
    type: z.enum(contactTypes).describe('The kind of `value`.'),
    value: text('The contact, normalised; `erased` once it was erased. The suppression stays in force.'),
  })
  .describe('The suppressed contact.')

const entry = {
  suppressionId: uuid('The id of the entry.'),
  contact,
  channelId: text(
    'The channel for which the contact is suppressed; null: all channels of the account.',
  ).nullable(),
  cause: z
    .enum(suppressionCauses)
    .describe(
      `Why: ${suppressionCauses.map((cause) => `\`${cause}\` ${causes[cause].documented}`).join('; ')}.`,
    ),
  reason: text('What was written beside it.').nullable(),
  createdAt: timeText('When it was added.'),
}

const suppression = named(
  'Suppression',
  z
    .object({ ...entry, requestId: uuid('The send that caused it.').nullable() })
    .describe('A suppressed contact.'),
)
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

const shared = { tag: 'Suppressions', permissions: ['suppressions:manage'], limit: 'request' } as const

/** The routes by which an account manages its suppression list. */
export const suppressionRoutes = {
  listSuppressions: {
    ...shared,
    method: 'get',
    path: '/v1/suppressions',
    summary: 'List the suppressed contacts, oldest first',
    description: `Suppressions that you or an operator added, or that were added after ${anyEvent}. ${countsAsSend}`,
    query: accountLists.suppressions,
    answer: {
      what: 'A page of entries.',
      schema: named('SuppressionList', listOf('suppressions', suppression)),
      example: { requestId, suppressions: [{ ...exampleEntry, requestId: null }], next: null },
    },
    index: { name: 'suppressions', what: 'The route that lists suppressed contacts.' },
  },
  addSuppression: {
    ...shared,
    method: 'post',
    path: '/v1/suppressions',
    summary: 'Send nothing to a contact any more',
    description: `Sends to the contact are accepted, and fail without a call of the provider; those that wait fail within seconds. A call that has begun isn't stopped. Repeating the request returns the existing entry. ${countsAsSend}`,
    body: {
      schema: named('NewSuppression', suppressionSchema),
      examples: {
        all: {
          summary: 'By no channel',
          value: { contact: { value: 'ann@example.com' }, reason: 'asked by letter' },
        },
        one: { summary: 'Not by this channel', value: { contact: { value: '+4915112345678' }, channelId } },
      },
      faults: {
        faultyFields: {
          summary: 'Fields are invalid, missing or unknown',
          value: { contact: { value: 'nobody' }, why: 'asked' },
        },
      },
    },
    answer: {
      status: 201,
      what: 'The contact is suppressed.',
      schema: named('AddedSuppression', z.object({ ...ofRequest, ...entry }).describe('The entry.')),
      example: { requestId, ...exampleEntry },
    },
    refusals: { noSuchChannel },
  },
  removeSuppression: {
    ...shared,
    method: 'delete',
    path: '/v1/suppressions/:suppressionId',
    summary: 'Send to a contact again',
    description: `Sends that failed meanwhile stay failed. ${countsAsSend}`,
    params: { suppressionId: { what: 'The entry.', example: suppressionId } },
    body: noBody,
    answer: { status: 204, what: 'The entry is removed.' },
    refusals: {
      suppressionNotFound: {
        summary: 'The entry does not exist, or belongs to another account',
        error: suppressionNotFound,
      },
    },
  },
} as const satisfies Record<string, Route>
