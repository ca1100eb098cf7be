import { rescheduleSend } from '../../../db/sends/reschedule.ts'
import { findSend } from '../../../db/sends/sends.ts'
import { moveRequest } from '../../core/requests/change-requests.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { type SendStatus, summaryOf } from '../../core/sends/timeline.ts'
import { logEvent } from '../../platform/log/logger.ts'
import type { Needs } from '../../runtime.ts'
import type { AccountSteps } from '../account/steps.ts'
import { answerJson } from '../answer.ts'
import { factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import { authorize } from '../keys/authenticate.ts'
import type { SendSteps } from '../send/steps.ts'
import { messageNotFound } from './get-message.ts'

export const notMovable = (status: SendStatus) =>
  new ApiError(
    409,
    `The send is ${status === 'queued' ? 'due' : status}: only one that waits for its time can be moved.`,
  )

/** Moves a scheduled send to another time, before its time has come (docs/reference/api.md#move). */
export function moveMessage(
  { db, log }: Needs<'db' | 'log'>,
  { authenticate, bodies }: AccountSteps,
  { checkSendAt }: SendSteps,
) {
  return factory.createHandlers(
    bodies.refuseDeclaredOversize,
    authenticate,
    authorize('messages:send'),
    async (c) => {
      const { caller, deadline } = c.var
      const { accountId } = caller
      const { sendAt } = await bodies.read(c, moveRequest)
      const { issue } = await checkSendAt({ deadline }, sendAt)
      if (issue) throw new ApiError(400, issue)
      const requestId = c.req.param('requestId') ?? ''
      if (!canBeRecordId(requestId)) throw messageNotFound()
      const moved = await deadline.spend(rescheduleSend(db, { requestId, accountId, sendAt }))
      if (!moved) {
        const found = await deadline.spend(findSend(db, requestId, accountId))
        throw found ? notMovable(found.send.status) : messageNotFound()
      }
      logEvent(log, requestId, 'scheduled', { sendAt: sendAt.toISOString() })
      return answerJson(c, summaryOf(moved, 'whole'))
    },
  )
}
