import type { Context, MiddlewareHandler } from 'hono'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { SendSteps } from '../send/steps.ts'
import type { ConnectionShare } from './connection-share.ts'

/** What the routes share by which an account reads and changes what it has. */
export interface AccountSteps {
  authenticate: MiddlewareHandler<ApiEnv>
  withConnection: ConnectionShare
  /** The sends' own: each request of these routes counts as a send. */
  limiter: SendSteps['limiter']
}

type QueryReader<Query> = (query: URLSearchParams) => { query: Query } | { issue: string }

/** The query of the request. @throws ApiError 400 that names each parameter that is unknown, repeated or unreadable. */
export function queryOf<Query>(c: Context<ApiEnv>, read: QueryReader<Query>): Query {
  const result = read(new URL(c.req.url).searchParams)
  if ('issue' in result) throw new ApiError(400, result.issue, {}, 'the query is not valid')
  return result.query
}
