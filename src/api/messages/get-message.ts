import { findContent } from '../../../db/sends/content.ts'
import { findSend } from '../../../db/sends/sends.ts'
import { sentMessage } from '../../core/messages/sent-message.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { buildTimeline } from '../../core/sends/timeline.ts'
import { withoutHosts } from '../../core/sends/worker-name.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { forbidden } from '../keys/authenticate.ts'
import { messageNotFound } from '../routes/messages.ts'
import { routes } from '../routes.ts'

/** Answers with a send's state and timeline, and with what was sent if it is asked for, for the owning account (docs/reference/timeline.md#timeline). */
export function getMessage({ db }: Needs<'db'>, { serve }: AccountSteps) {
  return serve(routes.getMessage, async (c, { query }) => {
    const { caller, deadline } = c.var
    const permission = query.include ? 'messages:content' : 'messages:read'
    if (!caller.permissions.includes(permission)) throw forbidden(permission)
    const requestId = c.req.param('requestId') ?? ''
    const found = canBeRecordId(requestId)
      ? await deadline.spend(findSend(db, requestId, caller.accountId))
      : undefined
    if (!found) throw messageNotFound()
    const timeline = withoutHosts(buildTimeline(found.send, found.events, 'whole'))
    if (!query.include) return timeline
    const content = await deadline.spend(findContent(db, requestId, caller.accountId))
    return { ...timeline, ...(content ? sentMessage(content.message) : { message: null, email: null }) }
  })
}
