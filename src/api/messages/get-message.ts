import { findSend } from '../../../db/sends/sends.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { buildTimeline } from '../../core/sends/timeline.ts'
import { withoutHosts } from '../../core/sends/worker-name.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { messageNotFound } from '../routes/messages.ts'
import { routes } from '../routes.ts'

/** Answers with a send's state and timeline, for the owning account (docs/reference/timeline.md#timeline). */
export function getMessage({ db }: Needs<'db'>, { serve }: AccountSteps) {
  return serve(routes.getMessage, async (c) => {
    const { caller, deadline } = c.var
    const requestId = c.req.param('requestId') ?? ''
    const found = canBeRecordId(requestId)
      ? await deadline.spend(findSend(db, requestId, caller.accountId))
      : undefined
    if (!found) throw messageNotFound()
    return withoutHosts(buildTimeline(found.send, found.events, 'whole'))
  })
}
