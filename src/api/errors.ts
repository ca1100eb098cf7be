import { STATUS_CODES } from 'node:http'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import { isConflict, isUnavailable } from '../../db/connection/errors.ts'
import { DeadlinePassed } from '../platform/deadline.ts'
import { databaseCauseFields } from '../platform/log/cause-fields.ts'
import { logFault, logWarning } from '../platform/log/logger.ts'
import { NotAcquired } from '../platform/memory/semaphore.ts'
import type { Needs } from '../runtime.ts'
import { answerJson } from './answer.ts'
import { notJson } from './body/parse-body.ts'
import type { ApiEnv } from './context.ts'
import { type ErrorCode, errorCodes } from './errors/codes.ts'
import { headersOfCode } from './errors/headers.ts'

/** An error answer. Its message is for the client: it says what to fix, and shows no internals. */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly headers: Record<string, string>
  /** The message for the log, without text of the client. */
  readonly reason: string

  constructor(
    code: ErrorCode,
    message: string,
    headers: Record<string, string> = {},
    reason: string = message,
  ) {
    super(message)
    this.code = code
    this.headers = headers
    this.reason = reason
  }

  get statusCode() {
    return errorCodes[this.code].status
  }
}

const retryAfterSeconds = '1'

export const unavailable = () =>
  new ApiError(
    'unavailable',
    'The service cannot take this at the moment, and has not accepted it. Try again.',
    {
      'Retry-After': retryAfterSeconds,
    },
  )

export const notHttp = () => new ApiError('invalid_http', 'This is not a valid HTTP request.')

export const routeNotFound = () => new ApiError('route_not_found', 'No such route.')

export function wrongMethod(methods: readonly string[]): ApiError {
  const allow = methods.join(', ')
  return new ApiError('method_not_allowed', `This route takes ${allow}.`, { Allow: allow })
}

export const notReady = (reason: string) =>
  new ApiError('not_ready', reason, { 'Retry-After': retryAfterSeconds })

/** The answer of `/readyz`, which is asked again and again: a change is logged (readiness.ts), not each answer. */
export function answerNotReady(c: Context<ApiEnv>, reason: string, { settings }: Answering): Response {
  return answerApiError(c, notReady(reason), settings)
}

type Answering = Needs<'log', 'PUBLIC_BASE_URL'>

function answerApiError(c: Context<ApiEnv>, error: ApiError, settings: Answering['settings']): Response {
  const { code, statusCode, message, headers } = error
  return answerJson(c, errorBody(statusCode, message, c.get('requestId')), statusCode, {
    ...headersOfCode(code, settings.PUBLIC_BASE_URL),
    ...headers,
  })
}

/** The error body of every path of the service (docs/reference/errors.md). */
export function errorBody(statusCode: number, message: string, requestId: string) {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Error', message, requestId }
}

/** Answers with an error. The first middleware logs the refusal; a 500 or 503 has another log line, written here. */
export function answerError(c: Context<ApiEnv>, error: Error, { log, settings }: Answering): Response {
  const apiError = asApiError(error)
  const { statusCode } = apiError
  const requestId = c.get('requestId')
  if (statusCode === 500) logFault(log, 'crashed', error, { requestId })
  else if (statusCode === 503)
    logWarning(log, 'unavailable', error, { requestId, ...databaseCauseFields(error) })
  c.set('refusal', apiError)
  return answerApiError(c, apiError, settings)
}

/** Converts any error to the error answer for it. */
export function asApiError(error: Error): ApiError {
  if (error instanceof ApiError) return error
  // Hono's validator throws it if the body is no JSON; its own text names no field.
  if (error instanceof HTTPException) return new ApiError('invalid_body', notJson.issue)
  if (
    error instanceof DeadlinePassed ||
    error instanceof NotAcquired ||
    isUnavailable(error) ||
    isConflict(error)
  )
    return unavailable()
  return new ApiError(
    'internal_error',
    'Something went wrong on our side. Quote the requestId when you ask for help.',
  )
}
