import type { Context } from 'hono'
import { findOwnEndpoint } from '../../../db/callbacks/endpoints.ts'
import { isTooLate } from '../../../db/connection/errors.ts'
import type { RunPage } from '../../../db/page.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { Deadline } from '../../platform/deadline.ts'
import type { Runtime } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { type ApiEnv, answerWithinMs } from '../context.ts'
import { unavailable } from '../errors.ts'
import { endpointNotFound } from '../routes/endpoints.ts'
import { answerMarginMs } from '../send/record.ts'

export type EndpointSteps = ReturnType<typeof endpointSteps>

/** The steps of the routes by which an account manages its endpoints. */
export function endpointSteps(runtime: Runtime, account: AccountSteps) {
  const { db, clock } = runtime
  const { withConnection } = account
  return {
    ...account,

    /** @throws ApiError 404, the same for an absent endpoint and one of another account. */
    async find(c: Context<ApiEnv>) {
      const id = c.req.param('endpointId') ?? ''
      const endpoint = canBeRecordId(id)
        ? await withConnection(c.var, () => findOwnEndpoint(db, id, c.var.caller.accountId))
        : undefined
      if (!endpoint) throw endpointNotFound()
      return endpoint
    },

    /** For work of many pages: each has the time that a request has for PostgreSQL. */
    pagesOf(c: Context<ApiEnv>): RunPage {
      const { caller } = c.var
      return (page) => withConnection({ caller, deadline: new Deadline(answerWithinMs) }, page)
    },

    /**
     * Makes a change that must not happen after a 503: a repeat would make it twice.
     *
     * @param change is rolled back unless it is committed by then.
     */
    async inTime<Result>(c: Context<ApiEnv>, change: (recordBy: Date) => Promise<Result>): Promise<Result> {
      const { deadline } = c.var
      const recordByMs = performance.now() + deadline.leftMs - answerMarginMs
      const aheadMs = await deadline.spend(clock.aheadMs())
      try {
        return await withConnection(c.var, () => change(new Date(recordByMs + aheadMs)))
      } catch (error) {
        throw isTooLate(error) ? unavailable() : error
      }
    },
  }
}
