import { pageOfCallbacks } from '../../../db/callbacks/callback-pages.ts'
import { pageOfEndpoints } from '../../../db/callbacks/endpoints.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { webhookIdOf } from '../../core/callbacks/callback.ts'
import type { Needs } from '../../runtime.ts'
import { queryOf } from '../account/steps.ts'
import { answerJson } from '../answer.ts'
import { factory } from '../context.ts'
import type { EndpointSteps } from './steps.ts'

/** Lists and reads endpoints, and lists their callbacks (docs/reference/api.md#endpoints). */
export function readEndpoints({ db }: Needs<'db'>, steps: EndpointSteps) {
  const { withConnection, limiter, find } = steps

  const list = factory.createHandlers(...steps.authorized, async (c) => {
    const { readQuery, writeNext } = accountLists.endpoints
    const query = queryOf(c, readQuery)
    await limiter.rateLimit(c.var)
    const { requestId, caller } = c.var
    const { items, next } = await withConnection(c.var, () => pageOfEndpoints(db, caller.accountId, query))
    return answerJson(c, { requestId, endpoints: items, next: writeNext(next) })
  })

  const get = factory.createHandlers(...steps.authorized, async (c) => {
    const endpoint = await find(c)
    await limiter.rateLimit(c.var)
    return answerJson(c, { requestId: c.var.requestId, ...endpoint })
  })

  const callbacks = factory.createHandlers(...steps.authorized, async (c) => {
    const { readQuery, writeNext } = accountLists.callbacks
    const query = queryOf(c, readQuery)
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const { items, next } = await withConnection(c.var, () => pageOfCallbacks(db, endpointId, query))
    return answerJson(c, {
      requestId: c.var.requestId,
      callbacks: items.map((callback) => ({ webhookId: webhookIdOf(callback), ...callback })),
      next: writeNext(next),
    })
  })

  return { list, get, callbacks }
}
