import { STATUS_CODES } from 'node:http'
import type { Context } from 'hono'
import type { ContentfulStatusCode } from 'hono/utils/http-status'
import { databaseCause } from '../../db/connection/database-cause.ts'
import { causeLine } from '../core/store-causes.ts'
import { databaseCauseFields } from '../platform/log/cause-fields.ts'
import { type Logger, logFault, logWarning } from '../platform/log/logger.ts'
import { Layout } from './page/layout.tsx'

/** An error page; its message is shown to the user. */
export class PageError extends Error {
  readonly statusCode: ContentfulStatusCode
  readonly headers: Record<string, string>

  constructor(statusCode: ContentfulStatusCode, message: string, headers: Record<string, string> = {}) {
    super(message)
    this.statusCode = statusCode
    this.headers = headers
  }
}

export function answerError(c: Context, error: Error, log: Logger): Response | Promise<Response> {
  const { statusCode, message, headers } = asPageError(error)
  if (statusCode === 500) logFault(log, 'crashed', error)
  else if (statusCode === 503) logWarning(log, 'unavailable', error, databaseCauseFields(error))
  return c.html(
    <ErrorPage
      title={statusCode === 404 ? 'Not found' : (STATUS_CODES[statusCode] ?? 'Error')}
      message={message}
    />,
    statusCode,
    headers,
  )
}

const ErrorPage = ({ title, message }: { title: string; message: string }) => (
  <Layout title={title}>
    <section class="error">
      <h1>{title}</h1>
      <p role="alert">{message}</p>
      <p>
        <a href="/">Go to the first page</a>
      </p>
    </section>
  </Layout>
)

function asPageError(error: Error): PageError {
  if (error instanceof PageError) return error
  const cause = databaseCause(error)
  if (cause) return new PageError(503, `${causeLine(cause)}. Then try again.`, { 'Retry-After': '1' })
  return new PageError(
    500,
    'Something went wrong in this process. Its log has a line "crashed" with the cause.',
  )
}
