import type { z } from 'zod'
import type { Permission } from '../../core/accounts/api-key.ts'
import { variableIssues } from '../../core/messages/template.ts'
import { providerRules } from '../../core/providers/index.ts'
import { cancelRequest, moveRequest } from '../../core/requests/change-requests.ts'
import { describeIssue, describeIssues } from '../../core/requests/issues.ts'
import { readListQuery } from '../../core/requests/list-query.ts'
import { sendIssue } from '../../core/sends/send-issue.ts'
import { sendRequestSchemas } from '../../core/sends/send-request.ts'
import { notReadyReasons } from '../../platform/health/readiness.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import { smallBytes } from '../body/large/large-bodies.ts'
import { notJson } from '../body/parse-body.ts'
import { tooLarge } from '../body/receive.ts'
import {
  ApiError,
  asApiError,
  notHttp,
  notReady,
  routeNotFound,
  unavailable,
  wrongMethod,
} from '../errors.ts'
import { forbidden, tooManyFaultyKeys, unauthorized } from '../keys/authenticate.ts'
import { limitOfKey, tooManyByKey } from '../keys/key-limit.ts'
import { notCancelable, wantsNoBody } from '../messages/cancel-message.ts'
import { mediaNotFound } from '../messages/get-media.ts'
import { messageNotFound } from '../messages/get-message.ts'
import { notMovable } from '../messages/move-message.ts'
import { withPaths } from '../messages/send-batch.ts'
import { notProven, tooManyUnproven } from '../receipts/check-proof.ts'
import { maxReceiptBytes } from '../receipts/read-request.ts'
import { flowNotFound } from '../send/check-against-channel.ts'
import { keyUsedBefore } from '../send/find-earlier.ts'
import { channelNotFound } from '../send/find-own-channel.ts'
import { beyondWholeLimit, tooManyRequests } from '../send/rate-limit.ts'
import { exampleBodies, exampleIds } from './examples.ts'

/** An error answer for the document, made by the code that makes it in the service. */
export interface Refusal {
  summary: string
  error: ApiError
}

export type Refusals = Record<string, Refusal>

/** Any route may answer these. */
export function refusalsOfAny(...methods: string[]): Refusals {
  return {
    notHttp: { summary: 'The request is not valid HTTP', error: notHttp() },
    wrongMethod: { summary: 'The path exists, but not with this method', error: wrongMethod(methods) },
    crashed: { summary: 'A fault of the service', error: asApiError(new Error()) },
  }
}

export type LimitSettings = Pick<Settings, 'RATE_LIMIT_POINTS' | 'RATE_LIMIT_WINDOW_SECONDS'>

export const rateLimitOf = ({
  RATE_LIMIT_POINTS: points,
  RATE_LIMIT_WINDOW_SECONDS: seconds,
}: LimitSettings) => ({ points, seconds })

/** Any route with an API key may answer these. */
export const withKey = (settings: LimitSettings, ...permissions: Permission[]): Refusals => ({
  unauthorized: { summary: 'No valid API key', error: unauthorized() },
  forbidden: { summary: 'The key lacks the permission', error: forbidden(...permissions) },
  tooManyFaultyKeys: { summary: 'Too many invalid keys from this address', error: tooManyFaultyKeys(42) },
  tooManyByKey: {
    summary: 'Too many reads and refused requests with this key',
    error: tooManyByKey(limitOfKey(rateLimitOf(settings)), { resetSeconds: 42 }),
  },
  unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable() },
})

/** The error answers to a send, on one of the two endpoints. */
export function refusalsOfSend(
  endpoint: 'channelInBody' | 'channelInPath',
  settings: LimitSettings & Pick<Settings, 'MAX_BODY_BYTES'>,
): Refusals {
  const limit = rateLimitOf(settings)
  return {
    ...withKey(settings, 'messages:send'),
    missing: { summary: 'Fields are missing', error: issuesOf(endpoint, {}) },
    faulty: { summary: 'Fields are invalid or unknown', error: issuesOf(endpoint, faultyBody) },
    incompatible: { summary: 'Content of another type', error: issuesOf(endpoint, incompatibleBody) },
    notJson: { summary: 'The body is not JSON', error: new ApiError(400, notJson.issue) },
    tooLarge: { summary: 'The body is too large', error: tooLarge(settings.MAX_BODY_BYTES) },
    noFlow: { summary: 'The flow does not exist, or belongs to another account', error: flowNotFound() },
    tooMuchForChannel: {
      summary: "Exceeds a limit of the channel's provider",
      error: tooLongForItsChannel(),
    },
    wrongVariables: { summary: "The variables don't match the template", error: wrongVariables() },
    channelNotFound: {
      summary: 'The channel does not exist, or belongs to another account',
      error: channelNotFound(),
    },
    keyUsedBefore: {
      summary: 'The Idempotency-Key was used for another request',
      error: keyUsedBefore(exampleIds.firstRequestId),
    },
    tooManyRequests: {
      summary: 'The rate limit of the account is exceeded',
      error: tooManyRequests(limit, { resetSeconds: 42 }),
    },
    ...(endpoint === 'channelInBody' ? refusalsOfAny('POST', 'GET', 'HEAD') : refusalsOfAny('POST')),
  }
}

/** The error answers to a batch. */
export function refusalsOfBatch(settings: LimitSettings & Pick<Settings, 'MAX_BODY_BYTES'>): Refusals {
  const limit = rateLimitOf(settings)
  return {
    ...withKey(settings, 'messages:send'),
    faulty: { summary: 'Messages have invalid or unknown fields', error: issuesOfBatch() },
    channelsNotFound: {
      summary: 'Channels do not exist, or belong to another account',
      error: new ApiError(400, withPaths(channelNotFound().message, 3, true)),
    },
    notJson: { summary: 'The body is not JSON', error: new ApiError(400, notJson.issue) },
    tooLarge: { summary: 'The body is too large', error: tooLarge(settings.MAX_BODY_BYTES) },
    beyondWholeLimit: {
      summary: 'More messages than the rate limit ever allows',
      error: beyondWholeLimit({ points: 50, seconds: 60 }),
    },
    keyUsedBefore: {
      summary: 'The Idempotency-Key was used for another request',
      error: keyUsedBefore(exampleIds.firstRequestId),
    },
    tooManyRequests: {
      summary: 'The rate limit of the account is exceeded; none was accepted',
      error: tooManyRequests(limit, { resetSeconds: 42 }),
    },
    ...refusalsOfAny('POST', 'GET', 'HEAD', 'PATCH'),
  }
}

export const refusalsOfCancel = (settings: LimitSettings): Refusals => ({
  ...withKey(settings, 'messages:send'),
  content: { summary: 'The body is not empty', error: wantsNoBody() },
  messageNotFound: { summary: 'No send of the account has this id', error: messageNotFound() },
  notCancelable: { summary: 'The send is being sent, or has ended', error: notCancelable('sent') },
  ...refusalsOfAny('POST'),
})

const withBody = (settings: LimitSettings): Refusals => ({
  ...withKey(settings, 'messages:send'),
  notJson: { summary: 'The body is not JSON', error: new ApiError(400, notJson.issue) },
  tooLargeChange: { summary: 'The body is too large', error: tooLarge(smallBytes) },
})

export const refusalsOfCancelMany = (settings: LimitSettings): Refusals => ({
  ...withBody(settings),
  neither: { summary: 'Neither a reference nor a flow', error: issuesOfChange(cancelRequest, {}) },
  faulty: {
    summary: 'Fields are invalid or unknown',
    error: issuesOfChange(cancelRequest, { reference: '', flow: '' }),
  },
  ...refusalsOfAny('POST', 'GET', 'HEAD', 'PATCH'),
})

export const refusalsOfMove = (settings: LimitSettings): Refusals => ({
  ...withBody(settings),
  missing: { summary: 'The new time is missing', error: issuesOfChange(moveRequest, {}) },
  faulty: {
    summary: 'Fields are invalid or unknown',
    error: issuesOfChange(moveRequest, { sendAt: 'tomorrow', reference: 'x' }),
  },
  messageNotFound: { summary: 'No send of the account has this id', error: messageNotFound() },
  notMovable: { summary: 'Its time has come, or it has ended', error: notMovable('queued') },
  ...refusalsOfAny('GET', 'HEAD', 'PATCH'),
})

export const refusalsOfList = (settings: LimitSettings): Refusals => ({
  ...withKey(settings, 'messages:read'),
  faulty: { summary: 'Parameters are unknown, repeated or unreadable', error: faultyQuery() },
  ...refusalsOfAny('POST', 'GET', 'HEAD'),
})

export const refusalsOfRead = (settings: LimitSettings): Refusals => ({
  ...withKey(settings, 'messages:read'),
  messageNotFound: { summary: 'No send of the account has this id', error: messageNotFound() },
  ...refusalsOfAny('GET', 'HEAD', 'PATCH'),
})

export const refusalsOfGuide = (): Refusals => ({
  noSuchGuide: { summary: 'There is no such guide', error: routeNotFound() },
})

export const refusalsOfMedia = (): Refusals => ({
  mediaNotFound: { summary: 'The link was altered or has expired', error: mediaNotFound() },
  unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable() },
  ...refusalsOfAny('GET', 'HEAD'),
})

const ofReceipts = (): Refusals => ({
  notProven: { summary: 'The signature or token is wrong', error: notProven() },
  noSuchChannel: { summary: 'The channel does not exist, or takes no receipts', error: channelNotFound() },
  tooManyUnproven: { summary: 'Too many wrong signatures from this address', error: tooManyUnproven(42) },
  unavailable: { summary: 'PostgreSQL does not answer in time', error: unavailable() },
})

export const refusalsOfReceipts = (): Refusals => ({
  tooLargeReceipts: { summary: 'The body is too large', error: tooLarge(maxReceiptBytes) },
  ...ofReceipts(),
  ...refusalsOfAny('POST', 'GET', 'HEAD'),
})

export const refusalsOfReceiptsCheck = (): Refusals => ({
  ...ofReceipts(),
  wrongMethodOfCheck: {
    summary: "The channel's provider checks no address",
    error: wrongMethod(['POST']),
  },
  ...refusalsOfAny('POST', 'GET', 'HEAD'),
})

export const refusalsOfReadiness = (): Refusals => ({
  noDatabase: { summary: 'PostgreSQL does not answer', error: notReady(notReadyReasons.noDatabase) },
  draining: { summary: 'The process is ending', error: notReady(notReadyReasons.draining) },
  ...refusalsOfAny('GET', 'HEAD'),
})

const { contact, message } = exampleBodies.text.value

/** A body with typical issues: a mistyped name, and media without content. */
export const faultyBody = {
  channelId: '',
  contact,
  message: { type: 'media', media: { mediaType: 'image' } },
  closeConversaton: true,
}

export const incompatibleBody = {
  channelId: '',
  contact,
  message: { ...message, template: { name: 'welcome' } },
}

function issuesOf(endpoint: 'channelInBody' | 'channelInPath', body: object): ApiError {
  const { success, error } = sendRequestSchemas([])[endpoint].safeParse(body, { error: describeIssue })
  if (success) throw new Error('The example of a faulty body has no issue')
  return new ApiError(400, describeIssues(error.issues))
}

function issuesOfChange(schema: z.ZodType, body: object): ApiError {
  const { success, error } = schema.safeParse(body, { error: describeIssue })
  if (success) throw new Error('The example of a faulty body has no issue')
  return new ApiError(400, describeIssues(error.issues))
}

function issuesOfBatch(): ApiError {
  const messages = [{ ...faultyBody, contact: { value: '12' } }]
  const { success, error } = sendRequestSchemas([]).batch.safeParse({ messages }, { error: describeIssue })
  if (success) throw new Error('The example of a faulty batch has no issue')
  return new ApiError(400, describeIssues(error.issues))
}

function faultyQuery(): ApiError {
  const read = readListQuery(new URLSearchParams('limit=1000&contact=nobody&page=2'))
  if ('query' in read) throw new Error('The example of a faulty query has no issue')
  return new ApiError(400, read.issue)
}

const aPhone = { type: 'phone', value: '+4915112345678' } as const

function tooLongForItsChannel(): ApiError {
  const [rules] = Object.values(providerRules).sort((a, b) => a.maxTextCharacters - b.maxTextCharacters)
  if (!rules) throw new Error('There is no provider')
  const value = 'a'.repeat(rules.maxTextCharacters + 1)
  const send = { contact: aPhone, message: { type: 'text', text: { value } }, hasPublicUrl: true } as const
  return new ApiError(400, sendIssue(rules, send) ?? '')
}

function wrongVariables(): ApiError {
  return new ApiError(400, variableIssues(['name'], [{ key: 'nmae', value: 'Ann' }]).join('; '))
}
