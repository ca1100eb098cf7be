import { findSend } from '../../../db/sends/sends.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { buildTimeline } from '../../core/sends/timeline.ts'
import { withoutHosts } from '../../core/sends/worker-name.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { answerJson } from '../answer.ts'
import { factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import { authorize } from '../keys/authenticate.ts'

export const messageNotFound = () => new ApiError(404, 'Message not found')

/** Answers with a send's state and timeline, for the owning account (docs/reference/timeline.md#timeline). */
export function getMessage({ db }: Needs<'db'>, { authenticate, limitReads }: AccountSteps) {
  return factory.createHandlers(authenticate, authorize('messages:read'), limitReads, async (c) => {
    const { caller, deadline } = c.var
    const requestId = c.req.param('requestId') ?? ''
    const found = canBeRecordId(requestId)
      ? await deadline.spend(findSend(db, requestId, caller.accountId))
      : undefined
    if (!found) throw messageNotFound()
    return answerJson(c, withoutHosts(buildTimeline(found.send, found.events, 'whole')))
  })
}
