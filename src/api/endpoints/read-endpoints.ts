import { pageOfCallbacks } from '../../../db/callbacks/callback-pages.ts'
import { pageOfEndpoints } from '../../../db/callbacks/endpoints.ts'
import { accountLists } from '../../core/accounts/account-lists.ts'
import { webhookIdOf } from '../../core/callbacks/callback.ts'
import type { Needs } from '../../runtime.ts'
import { routes } from '../routes.ts'
import type { EndpointSteps } from './steps.ts'

/** Lists and reads endpoints, and lists their callbacks (docs/reference/api.md#endpoints). */
export function readEndpoints({ db }: Needs<'db'>, { serve, withConnection, limiter, find }: EndpointSteps) {
  return {
    listEndpoints: serve(routes.listEndpoints, async (c, { query }) => {
      await limiter.rateLimit(c.var)
      const { requestId, caller } = c.var
      const { items, next } = await withConnection(c.var, () => pageOfEndpoints(db, caller.accountId, query))
      return { requestId, endpoints: items, next: accountLists.endpoints.writeNext(next) }
    }),

    getEndpoint: serve(routes.getEndpoint, async (c) => {
      const endpoint = await find(c)
      await limiter.rateLimit(c.var)
      return { requestId: c.var.requestId, ...endpoint }
    }),

    listCallbacks: serve(routes.listCallbacks, async (c, { query }) => {
      const { endpointId } = await find(c)
      await limiter.rateLimit(c.var)
      const { items, next } = await withConnection(c.var, () => pageOfCallbacks(db, endpointId, query))
      return {
        requestId: c.var.requestId,
        callbacks: items.map((callback) => ({ webhookId: webhookIdOf(callback), ...callback })),
        next: accountLists.callbacks.writeNext(next),
      }
    }),
  }
}
