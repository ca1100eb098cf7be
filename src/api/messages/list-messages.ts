import type { MiddlewareHandler } from 'hono'
import { listSends } from '../../../db/sends/list.ts'
import { readListQuery, writeCursor } from '../../core/list-query.ts'
import { summaryOf } from '../../core/timeline.ts'
import type { Needs } from '../../runtime.ts'
import { answerJson } from '../answer.ts'
import { authorize } from '../authenticate.ts'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import type { Connections } from './connections.ts'

/** Lists the account's sends, newest first (docs/reference/api.md#list). */
export function listMessages(
  { db }: Needs<'db'>,
  authenticate: MiddlewareHandler<ApiEnv>,
  connections: Connections,
) {
  return factory.createHandlers(authenticate, authorize('messages:read'), async (c) => {
    const read = readListQuery(new URL(c.req.url).searchParams)
    if ('issue' in read) throw new ApiError(400, read.issue, {}, 'the query is not valid')
    const { caller, deadline, requestId } = c.var
    const list = () => listSends(db, caller.accountId, read.query)
    const { sends, next } = await deadline.spend(connections.use({ caller, deadline }, list))
    return answerJson(c, {
      requestId,
      messages: sends.map((send) => summaryOf(send, 'whole')),
      next: next ? writeCursor(next) : null,
    })
  })
}
