import { auditedInPages } from '../../../db/audit/record.ts'
import type { CanceledSend } from '../../../db/sends/cancel.ts'
import { cancelWaiting } from '../../../db/sends/cancel-sets.ts'
import { sendsCanceled } from '../../core/accounts/audit-details.ts'
import { writeCursor } from '../../core/requests/list-query.ts'
import { Deadline } from '../../platform/deadline.ts'
import { createWakeEndpoints } from '../../queue/wake-endpoints.ts'
import { createWakeLanes } from '../../queue/wake-sends.ts'
import type { Runtime } from '../../runtime.ts'
import { cancelEnd, noteEnd } from '../../sends/send-end.ts'
import type { AccountSteps } from '../account/steps.ts'
import { answerWithinMs } from '../context.ts'
import { routes } from '../routes.ts'

/** Cancels all that waits with a reference, or in a flow (docs/reference/api.md#cancel-many). */
export function cancelMessages(runtime: Runtime, { serve, withConnection, rowOf }: AccountSteps) {
  const { db } = runtime
  const wakeEndpoints = createWakeEndpoints(runtime)
  const { wakeHeadOf } = createWakeLanes(runtime)
  return serve(routes.cancelMessages, async (c, { body }) => {
    const { by, after } = body
    const { caller, requestId } = c.var
    const { accountId } = caller
    const ended: string[] = []
    const follow = ({ requestId, ...end }: CanceledSend) => {
      noteEnd(runtime, cancelEnd(requestId, end, { accountId }))
      wakeEndpoints(end.endpointsToWake ?? [])
      ended.push(requestId)
    }
    // Each step has a deadline of its own: the whole takes longer than one request may wait for PostgreSQL.
    const take = <Result>(step: () => Promise<Result>) =>
      withConnection({ caller, deadline: new Deadline(answerWithinMs) }, step)
    const onEnded = (sends: readonly CanceledSend[]) => sends.forEach(follow)
    try {
      const { next, ...counts } = await auditedInPages(db, rowOf(c, sendsCanceled(accountId, by)), {
        change: () => cancelWaiting(db, { accountId, by, after }, { take, onEnded }),
        resultOf: ({ next: _, ...counts }) => counts,
        runPage: take,
      })
      return { requestId, ...counts, next: next ? writeCursor(next) : null }
    } finally {
      // In the end, since the next send of a contact may be among those to be canceled.
      for (const requestId of ended) void wakeHeadOf(requestId)
    }
  })
}
