import type { Context, Handler, MiddlewareHandler } from 'hono'
import type { Network } from '../core/requests/public-address.ts'
import { answerJson } from './answer.ts'
import type { SmallBodies } from './body/small-body.ts'
import type { ApiEnv } from './context.ts'
import { ApiError } from './errors.ts'
import { authorize } from './keys/authenticate.ts'
import type { KeyLimiter } from './keys/key-limit.ts'
import {
  type AnswerOf,
  type BodyOf,
  type QueryOf,
  type QueryReader,
  type Route,
  schemaOf,
} from './routes/route.ts'

export type Handlers = readonly (Handler<ApiEnv> | MiddlewareHandler<ApiEnv>)[]

/** The parsed query and body of a request. */
export interface Given<Served extends Route> {
  query: QueryOf<Served>
  body: BodyOf<Served>
}

/** The work of a route returns its answer; or a Response, for one with headers or a body of its own. */
type Work<Served extends Route> = (
  c: Context<ApiEnv>,
  given: Given<Served>,
) => Promise<AnswerOf<Served> | Response>

/** Serves a route by its line in the table of routes (docs/reference/api.md#order-of-checks). */
export type Serve = <Served extends Route>(route: Served, work: Work<Served>) => Handlers

interface ServeSteps extends Pick<KeyLimiter, 'limitReads'> {
  authenticate: MiddlewareHandler<ApiEnv>
  bodies: SmallBodies
  allowedPrivateNetworks: readonly Network[]
}

/**
 * The steps of every route but those of sends, of the cancel of one send, of receipts and files: the declared size, the key, its permission, the limit of reads, the
 * query or the body; then the route's own work.
 */
export function createServe({ authenticate, bodies, limitReads, allowedPrivateNetworks }: ServeSteps): Serve {
  return (route, work) => {
    const { permissions, limit, query, body } = route
    const { status } = route.answer
    const readQuery = query?.readQuery
    const schema = body && schemaOf(body, allowedPrivateNetworks)
    const whenAbsent = body?.isOptional && {}
    return [
      ...(body ? [bodies.refuseDeclaredOversize] : []),
      ...(permissions ? [authenticate, authorize(...permissions)] : []),
      ...(limit === 'read' ? [limitReads] : []),
      async (c) => {
        const given = {
          query: readQuery && queryOf(c, readQuery),
          body: schema && (await bodies.read(c, schema, whenAbsent)),
        }
        const answered: unknown = await work(c, given as Given<typeof route>)
        if (answered instanceof Response) return answered
        if (status === 204) return new Response(null, { status, headers: c.var.headers })
        return answerJson(c, answered, status)
      },
    ]
  }
}

/** The query of the request. @throws ApiError 400 that names each parameter that is unknown, repeated or unreadable. */
function queryOf(c: Context<ApiEnv>, readQuery: QueryReader): object {
  const result = readQuery(new URL(c.req.url).searchParams)
  if ('issue' in result) throw new ApiError('invalid_query', result.issue, {}, result.reason)
  return result.query
}
