import type { Context } from 'hono'
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findOwnEndpoint,
  pageOfEndpoints,
  updateEndpoint,
} from '../../../db/callbacks/endpoints.ts'
import { accountLists } from '../../core/account-lists.ts'
import { disabledByClient, endpointSchemas, noFields } from '../../core/endpoint-request.ts'
import type { EndpointWaker } from '../../queue/wake-endpoints.ts'
import type { Runtime } from '../../runtime.ts'
import { queryOf } from '../account/steps.ts'
import { answerJson } from '../answer.ts'
import { pauseIdleTimeout } from '../body/receive.ts'
import { type ApiEnv, factory } from '../context.ts'
import { type EndpointSteps, endpointNotFound } from './steps.ts'

/** Lists, reads, changes, enables, disables and deletes endpoints (docs/reference/api.md#endpoints). */
export function manageEndpoints({ db, settings }: Runtime, steps: EndpointSteps, wake: EndpointWaker) {
  const { withConnection, limiter, readBody, find, pagesOf } = steps
  const { update: schema } = endpointSchemas(settings.ALLOWED_PRIVATE_NETWORKS)

  /** @param isThere whether it was still there when it was to be changed. */
  const answerChanged = async (c: Context<ApiEnv>, id: string, isThere: boolean) => {
    const { requestId, caller } = c.var
    const endpoint = isThere ? await pagesOf(c)(() => findOwnEndpoint(db, id, caller.accountId)) : undefined
    if (!endpoint) throw endpointNotFound()
    return answerJson(c, { requestId, ...endpoint })
  }

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

  const patch = factory.createHandlers(...steps.withBody, async (c) => {
    const fields = await readBody(c, schema)
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const isThere = await withConnection(c.var, () => updateEndpoint(db, endpointId, fields))
    return await answerChanged(c, endpointId, isThere)
  })

  const enable = factory.createHandlers(...steps.withBody, async (c) => {
    await readBody(c, noFields, {})
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    const isThere = await enableEndpoint(db, endpointId, pagesOf(c)).finally(resumeIdleTimeout)
    if (isThere) wake([endpointId])
    return await answerChanged(c, endpointId, isThere)
  })

  const disable = factory.createHandlers(...steps.withBody, async (c) => {
    await readBody(c, noFields, {})
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const isThere = await withConnection(c.var, () => disableEndpoint(db, endpointId, disabledByClient))
    return await answerChanged(c, endpointId, isThere)
  })

  const remove = factory.createHandlers(...steps.withBody, async (c) => {
    await readBody(c, noFields, {})
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    const isDeleted = await deleteEndpoint(db, endpointId, pagesOf(c)).finally(resumeIdleTimeout)
    if (!isDeleted) throw endpointNotFound()
    return new Response(null, { status: 204, headers: c.var.headers })
  })

  return { list, get, patch, enable, disable, remove }
}
