import { STATUS_CODES } from 'node:http'
import type { Context } from 'hono'
import { HTTPException } from 'hono/http-exception'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { isUnavailable } from '../../db/errors.ts'
import { type Logger, logEvent } from '../platform/logger.ts'
import { WaitBudgetSpent } from '../platform/wait-budget.ts'
import type { ApiEnv } from './context.ts'

/** An answer other than the asked-for one. Its message is for the client: it says what to mend and shows no internals. */
export class ApiError extends Error {
  readonly statusCode: ContentfulStatusCode
  readonly headers: Record<string, string>

  constructor(statusCode: ContentfulStatusCode, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.statusCode = statusCode
    this.headers = headers
  }
}

const retryAfterSeconds = '1'

export const unavailable = () =>
  new ApiError(503, 'The service cannot take requests at the moment; nothing was accepted. Try again.', {
    'Retry-After': retryAfterSeconds,
  })

/** The error body of every path of the service (docs/api.md#errors). */
export function errorBody(statusCode: number, message: string, requestId: string) {
  return { statusCode, error: STATUS_CODES[statusCode] ?? 'Error', message, requestId }
}

/** Answers with an error, and leaves one line in the log. */
export function answerError(c: Context<ApiEnv>, error: Error, log: Logger): Response {
  const { statusCode, message, headers } = asApiError(error)
  const { requestId } = c.var
  if (statusCode === 500) log.error({ requestId, event: 'crashed', err: error })
  else if (statusCode === 503) log.warn({ requestId, event: 'unavailable', reason: error.message })
  logEvent(log, requestId, 'rejected', { statusCode, accountId: c.var.caller?.accountId })
  return c.json(errorBody(statusCode, message, requestId), statusCode, headers)
}

function asApiError(error: Error): ApiError {
  if (error instanceof ApiError) return error
  if (error instanceof HTTPException) return new ApiError(error.status as ContentfulStatusCode, error.message)
  if (error instanceof WaitBudgetSpent || isUnavailable(error)) return unavailable()
  return new ApiError(500, 'Something went wrong on our side. Quote the requestId when you ask for help.')
}
