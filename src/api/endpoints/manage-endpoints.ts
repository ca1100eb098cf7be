import type { Context } from 'hono'
import { audited, recordAudit } from '../../../db/audit/record.ts'
import {
  deleteEndpoint,
  disableEndpoint,
  enableEndpoint,
  findOwnEndpoint,
  updateEndpoint,
} from '../../../db/callbacks/endpoints.ts'
import type { Transaction } from '../../../db/connection/client.ts'
import type { AuditAction } from '../../core/accounts/audit.ts'
import { endpointDetails } from '../../core/accounts/audit-details.ts'
import { disabledByClient, endpointSchemas, noFields } from '../../core/callbacks/endpoint-request.ts'
import type { EndpointWaker } from '../../queue/wake-endpoints.ts'
import type { Runtime } from '../../runtime.ts'
import { answerJson } from '../answer.ts'
import { pauseIdleTimeout } from '../body/receive.ts'
import { type ApiEnv, factory } from '../context.ts'
import { type EndpointSteps, endpointNotFound } from './steps.ts'

/** Changes, enables, disables and deletes endpoints (docs/reference/api.md#endpoints). */
export function manageEndpoints({ db, settings }: Runtime, steps: EndpointSteps, wake: EndpointWaker) {
  const { withConnection, limiter, readBody, find, pagesOf, rowOf } = steps
  const { update: schema } = endpointSchemas(settings.CLIENT_PRIVATE_NETWORKS)

  /** @param isThere whether it was still there when it was to be changed. */
  const answerChanged = async (c: Context<ApiEnv>, id: string, isThere: boolean) => {
    const { requestId, caller } = c.var
    const endpoint = isThere ? await pagesOf(c)(() => findOwnEndpoint(db, id, caller.accountId)) : undefined
    if (!endpoint) throw endpointNotFound()
    return answerJson(c, { requestId, ...endpoint })
  }

  const paged = (c: Context<ApiEnv>, action: AuditAction) => {
    const row = rowOf(c, { action, target: c.req.param('endpointId') ?? null })
    return { runPage: pagesOf(c), record: (transaction: Transaction) => recordAudit(transaction, row) }
  }

  const patch = factory.createHandlers(...steps.withBody, async (c) => {
    const fields = await readBody(c, schema)
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const details = endpointDetails(fields)
    const isThere = await withConnection(c.var, () =>
      audited(
        db,
        (transaction) => updateEndpoint(transaction, endpointId, fields),
        (isThere) => isThere && rowOf(c, { action: 'endpoint.update', target: endpointId, details }),
      ),
    )
    return await answerChanged(c, endpointId, isThere)
  })

  const enable = factory.createHandlers(...steps.withBody, async (c) => {
    await readBody(c, noFields, {})
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    const isThere = await enableEndpoint(db, endpointId, paged(c, 'endpoint.enable')).finally(
      resumeIdleTimeout,
    )
    if (isThere) wake([endpointId])
    return await answerChanged(c, endpointId, isThere)
  })

  const disable = factory.createHandlers(...steps.withBody, async (c) => {
    await readBody(c, noFields, {})
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const isThere = await withConnection(c.var, () =>
      audited(
        db,
        (transaction) => disableEndpoint(transaction, endpointId, disabledByClient),
        (isThere) => isThere && rowOf(c, { action: 'endpoint.disable', target: endpointId }),
      ),
    )
    return await answerChanged(c, endpointId, isThere)
  })

  const remove = factory.createHandlers(...steps.withBody, async (c) => {
    await readBody(c, noFields, {})
    const { endpointId } = await find(c)
    await limiter.rateLimit(c.var)
    const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
    const isDeleted = await deleteEndpoint(db, endpointId, paged(c, 'endpoint.delete')).finally(
      resumeIdleTimeout,
    )
    if (!isDeleted) throw endpointNotFound()
    return new Response(null, { status: 204, headers: c.var.headers })
  })

  return { patch, enable, disable, remove }
}
