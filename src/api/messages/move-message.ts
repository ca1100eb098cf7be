import { findScheduledContent, rescheduleSend, type ScheduledContent } from '../../../db/sends/reschedule.ts'
import { findSend } from '../../../db/sends/sends.ts'
import type { Contact } from '../../core/contacts/contact.ts'
import { type SmsSize, smsSizeOf } from '../../core/messages/segments.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { unreachableIssue } from '../../core/sends/send-issue.ts'
import { summaryOf } from '../../core/sends/timeline.ts'
import { logEvent } from '../../platform/log/logger.ts'
import { providerOf } from '../../providers/known.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { ApiError } from '../errors.ts'
import { messageNotFound, notMovable } from '../routes/messages.ts'
import { routes } from '../routes.ts'
import { atOnce } from '../send/check-send-at.ts'
import type { SendSteps } from '../send/steps.ts'

/** Moves a scheduled send to another time, or to another contact, before its time has come (docs/reference/api.md#move). */
export function moveMessage(
  { db, log }: Needs<'db' | 'log'>,
  { serve }: AccountSteps,
  { checkSendAt }: SendSteps,
) {
  return serve(routes.moveMessage, async (c, { body }) => {
    const { caller, deadline } = c.var
    const { accountId } = caller
    const { sendAt, contact } = body
    const { issue } = sendAt ? await checkSendAt({ deadline }, sendAt) : atOnce
    if (issue) throw new ApiError('invalid_body', issue)
    const requestId = c.req.param('requestId') ?? ''
    if (!canBeRecordId(requestId)) throw messageNotFound()
    const content = contact && (await deadline.spend(findScheduledContent(db, requestId, accountId)))
    const sms = contact && content && sizeTo(contact, content)
    const moved = await deadline.spend(rescheduleSend(db, { requestId, accountId, sendAt, contact, sms }))
    if (!moved) {
      const found = await deadline.spend(findSend(db, requestId, accountId))
      throw found ? notMovable(found.send.status) : messageNotFound()
    }
    logEvent(log, requestId, 'scheduled', { sendAt: moved.sendAt.toISOString() })
    return summaryOf(moved, 'whole')
  })
}

/** What the message takes as SMS to a new contact, which its channel has to reach. */
function sizeTo(contact: Contact, { provider, message, countries }: ScheduledContent): SmsSize | undefined {
  const rules = providerOf(provider)
  const issue = unreachableIssue(rules, contact, message, countries)
  if (issue) throw new ApiError('unsupported_by_channel', issue)
  return smsSizeOf(rules, contact, message)
}
