import { accountLists } from '../../core/accounts/account-lists.ts'
import type { Permission } from '../../core/accounts/api-key.ts'
import { endpointSchemas, resendSchema, rotationSchema } from '../../core/callbacks/endpoint-request.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { suppressionSchema } from '../../core/suppression/suppression-request.ts'
import { smallBytes } from '../body/large/large-bodies.ts'
import { notJson } from '../body/parse-body.ts'
import { tooLarge } from '../body/receive.ts'
import { notTestable, notTested } from '../endpoints/call-endpoint.ts'
import { accountIsFull } from '../endpoints/create-endpoint.ts'
import { endpointNotFound } from '../endpoints/steps.ts'
import { ApiError } from '../errors.ts'
import { keyUsedBefore } from '../send/find-earlier.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import { tooManyRequests } from '../send/rate-limit.ts'
import { suppressionNotFound } from '../suppressions/manage-suppressions.ts'
import { exampleIds } from './examples.ts'
import { type LimitSettings, type Refusals, rateLimitOf, refusalsOfAny, withKey } from './refusals.ts'

/** Any route of an account's own things may answer these. */
const ofAccount = (permissions: Permission[], settings: LimitSettings): Refusals => ({
  ...withKey(settings, ...permissions),
  tooManyRequests: {
    summary: 'The rate limit of the account is exceeded',
    error: tooManyRequests(rateLimitOf(settings), { resetSeconds: 42 }),
  },
})

export const withPage = (): Refusals => ({
  faultyPage: { summary: 'Parameters are unknown, repeated or unreadable', error: faultyPageError() },
})

/** The query by which the example is met with. */
export const faultyPageQuery = 'limit=1000&after=x&page=2'

function faultyPageError(): ApiError {
  const read = accountLists.flows.readQuery(new URLSearchParams(faultyPageQuery))
  if ('query' in read) throw new Error('The example of a faulty query has no issue')
  return new ApiError(400, read.issue)
}

const readsChannels: Permission[] = ['messages:send', 'messages:read']

export const refusalsOfChannels = (settings: LimitSettings): Refusals => ({
  ...ofAccount(readsChannels, settings),
  ...withPage(),
  ...refusalsOfAny('GET', 'HEAD'),
})

export const refusalsOfChannel = (settings: LimitSettings): Refusals => ({
  ...ofAccount(readsChannels, settings),
  noSuchChannel: {
    summary: 'The channel does not exist, or belongs to another account',
    error: channelNotFound(),
  },
  ...refusalsOfAny('GET', 'HEAD'),
})

export const refusalsOfTemplates = (settings: LimitSettings): Refusals => ({
  ...withPage(),
  ...refusalsOfChannel(settings),
})

const managesEndpoints: Permission[] = ['endpoints:manage']

export const refusalsOfEndpoints = (settings: LimitSettings): Refusals => ({
  ...ofAccount(managesEndpoints, settings),
  ...withPage(),
  ...refusalsOfAny('GET', 'HEAD', 'POST'),
})

/** The error answers of each route of one endpoint. */
export const ofEndpoint = (settings: LimitSettings, ...methods: string[]): Refusals => ({
  ...ofAccount(managesEndpoints, settings),
  endpointNotFound: {
    summary: 'The endpoint does not exist, or belongs to another account',
    error: endpointNotFound(),
  },
  ...refusalsOfAny(...methods),
})

const managesSuppressions: Permission[] = ['suppressions:manage']

export const refusalsOfSuppressions = (settings: LimitSettings): Refusals => ({
  ...ofAccount(managesSuppressions, settings),
  ...withPage(),
  ...refusalsOfAny('GET', 'HEAD', 'POST'),
})

export const refusalsOfSuppress = (settings: LimitSettings): Refusals => ({
  ...ofAccount(managesSuppressions, settings),
  ...withBody('suppress'),
  noSuchChannel: {
    summary: 'The channel does not exist, or belongs to another account',
    error: channelNotFound(),
  },
  ...refusalsOfAny('GET', 'HEAD', 'POST'),
})

export const refusalsOfUnsuppress = (settings: LimitSettings): Refusals => ({
  ...ofAccount(managesSuppressions, settings),
  suppressionNotFound: {
    summary: 'The entry does not exist, or belongs to another account',
    error: suppressionNotFound(),
  },
  ...withNoBody(),
  ...refusalsOfAny('DELETE'),
})

/** Bodies by which the examples are met with. */
export const faultyBodies = {
  create: { events: ['sent'], secret: 'mine' },
  update: { url: 'http://example.com' },
  rotate: { overlapSeconds: 1_000_000 },
  resend: { since: 'yesterday', only: 'failed' },
  suppress: { contact: { value: 'nobody' }, why: 'asked' },
}

const schemas = {
  ...endpointSchemas([]),
  rotate: rotationSchema,
  resend: resendSchema,
  suppress: suppressionSchema,
}

export function withBody(name: keyof typeof faultyBodies): Refusals {
  const { success, error } = schemas[name].safeParse(faultyBodies[name], { error: describeIssue })
  if (success) throw new Error('The example of a faulty body has no issue')
  return {
    faultyFields: {
      summary: 'Fields are invalid, missing or unknown',
      error: new ApiError(400, describeIssues(error.issues)),
    },
    notJson: { summary: 'The body is not JSON', error: new ApiError(400, notJson.issue) },
    tooLargeForSmall: { summary: 'The body is too large', error: tooLarge(smallBytes) },
  }
}

export const withNoBody = (): Refusals => ({
  surplus: { summary: 'The body is not empty', error: new ApiError(400, 'a: unknown field') },
})

export const refusalsOfCreate = (settings: LimitSettings): Refusals => ({
  ...ofAccount(managesEndpoints, settings),
  ...withBody('create'),
  accountIsFull: { summary: 'The account has as many as it may have', error: accountIsFull() },
  keyUsedBefore: {
    summary: 'The Idempotency-Key was used for another request',
    error: keyUsedBefore(exampleIds.firstRequestId),
  },
  ...refusalsOfAny('GET', 'HEAD', 'POST'),
})

export const refusalsOfTest = (): Refusals => ({
  notTestable: { summary: 'The endpoint is disabled', error: notTestable('by its account') },
  notTested: { summary: 'No worker has called it in time', error: notTested() },
})
