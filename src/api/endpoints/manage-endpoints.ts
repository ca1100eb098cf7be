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
import { disabledByClient } from '../../core/callbacks/endpoint-request.ts'
import type { EndpointWaker } from '../../queue/wake-endpoints.ts'
import type { Needs } from '../../runtime.ts'
import { pauseIdleTimeout } from '../body/receive.ts'
import type { ApiEnv } from '../context.ts'
import { endpointNotFound } from '../routes/endpoints.ts'
import { routes } from '../routes.ts'
import type { EndpointSteps } from './steps.ts'

/** Changes, enables, disables and deletes endpoints (docs/reference/api.md#endpoints). */
export function manageEndpoints({ db }: Needs<'db'>, steps: EndpointSteps, wake: EndpointWaker) {
  const { serve, withConnection, limiter, find, pagesOf, rowOf } = steps

  /** @param isThere whether it was still there when it was to be changed. */
  const changed = async (c: Context<ApiEnv>, id: string, isThere: boolean) => {
    const { requestId, caller } = c.var
    const endpoint = isThere ? await pagesOf(c)(() => findOwnEndpoint(db, id, caller.accountId)) : undefined
    if (!endpoint) throw endpointNotFound()
    return { requestId, ...endpoint }
  }

  const paged = (c: Context<ApiEnv>, action: AuditAction) => {
    const row = rowOf(c, { action, target: c.req.param('endpointId') ?? null })
    return { runPage: pagesOf(c), record: (transaction: Transaction) => recordAudit(transaction, row) }
  }

  return {
    updateEndpoint: serve(routes.updateEndpoint, async (c, { body: fields }) => {
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
      return await changed(c, endpointId, isThere)
    }),

    enableEndpoint: serve(routes.enableEndpoint, async (c) => {
      const { endpointId } = await find(c)
      await limiter.rateLimit(c.var)
      const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
      const isThere = await enableEndpoint(db, endpointId, paged(c, 'endpoint.enable')).finally(
        resumeIdleTimeout,
      )
      if (isThere) wake([endpointId])
      return await changed(c, endpointId, isThere)
    }),

    disableEndpoint: serve(routes.disableEndpoint, async (c) => {
      const { endpointId } = await find(c)
      await limiter.rateLimit(c.var)
      const isThere = await withConnection(c.var, () =>
        audited(
          db,
          (transaction) => disableEndpoint(transaction, endpointId, disabledByClient),
          (isThere) => isThere && rowOf(c, { action: 'endpoint.disable', target: endpointId }),
        ),
      )
      return await changed(c, endpointId, isThere)
    }),

    deleteEndpoint: serve(routes.deleteEndpoint, async (c) => {
      const { endpointId } = await find(c)
      await limiter.rateLimit(c.var)
      const resumeIdleTimeout = pauseIdleTimeout(c.env.incoming)
      const isDeleted = await deleteEndpoint(db, endpointId, paged(c, 'endpoint.delete')).finally(
        resumeIdleTimeout,
      )
      if (!isDeleted) throw endpointNotFound()
      return undefined
    }),
  }
}
