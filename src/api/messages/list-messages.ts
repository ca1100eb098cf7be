import type { MiddlewareHandler } from 'hono'
import { listSends } from '../../../db/sends/list.ts'
import { type ListQuery, readListQuery, writeCursor } from '../../core/list-query.ts'
import { summaryOf } from '../../core/timeline.ts'
import { Semaphore } from '../../platform/semaphore.ts'
import type { Needs } from '../../runtime.ts'
import { answerJson } from '../answer.ts'
import { authorize } from '../authenticate.ts'
import { type ApiEnv, factory, type RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'

type ListNeeds = Needs<'db', 'DATABASE_POOL_SIZE'>

/** Lists the account's sends, newest first (docs/reference/api.md#list). */
export function listMessages(runtime: ListNeeds, authenticate: MiddlewareHandler<ApiEnv>) {
  const readPage = pageReader(runtime)
  return factory.createHandlers(authenticate, authorize('messages:read'), async (c) => {
    const read = readListQuery(new URL(c.req.url).searchParams)
    if ('issue' in read) throw new ApiError(400, read.issue, {}, 'the query is not valid')
    const { caller, deadline, requestId } = c.var
    const { sends, next } = await deadline.spend(readPage({ caller, deadline }, read.query))
    return answerJson(c, {
      requestId,
      messages: sends.map((send) => summaryOf(send, 'whole')),
      next: next ? writeCursor(next) : null,
    })
  })
}

/** A page may take long, so pages use a third of the connections at most, and accepts always find one. */
function pageReader({ db, settings }: ListNeeds) {
  const units = Math.max(1, Math.floor(settings.DATABASE_POOL_SIZE / 3))
  const connections = new Semaphore({ units, unitsOfOwner: Math.max(1, units - 1) })
  return async (
    { caller: { accountId }, deadline }: Pick<RequestState, 'caller' | 'deadline'>,
    query: ListQuery,
  ) => {
    const release = await connections.acquire({ units: 1, owner: accountId }, deadline.leftMs)
    return await listSends(db, accountId, query).finally(() => release())
  }
}
