import type { MiddlewareHandler } from 'hono'
import { cancelSend } from '../../../db/sends/cancel.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { createWakeEndpoints } from '../../queue/wake-endpoints.ts'
import { createWakeLanes } from '../../queue/wake-sends.ts'
import type { Runtime } from '../../runtime.ts'
import { cancelEnd, createFollowEnd } from '../../sends/send-end.ts'
import { answerJson } from '../answer.ts'
import type { BodySteps } from '../body/body-steps.ts'
import { joined } from '../body/pieces.ts'
import { type ApiEnv, factory } from '../context.ts'
import { authorize } from '../keys/authenticate.ts'
import { messageNotFound, notCancelable, wantsNoBody } from '../routes/messages.ts'
import { routes } from '../routes.ts'
import type { Handlers } from '../serve.ts'

/** Cancels a send that waits (docs/reference/api.md#cancel). After a 200, its provider is not called. */
export function cancelMessage(
  runtime: Runtime,
  authenticate: MiddlewareHandler<ApiEnv>,
  { refuseDeclaredOversize, readBody }: BodySteps,
): Handlers {
  const { db } = runtime
  const followEnd = createFollowEnd(
    runtime,
    createWakeEndpoints(runtime),
    createWakeLanes(runtime).wakeHeadOf,
  )
  const refuseContent = factory.createMiddleware(async (c, next) => {
    const { headers } = c.env.incoming
    const isEmpty = Number(headers['content-length'] ?? 0) === 0 && headers['transfer-encoding'] === undefined
    if (isEmpty) return await next()
    return await readBody(c, async () => {
      const body = joined(c.get('body'))
      if (body.length > 0 && !/^\s*\{\s*\}\s*$/.test(body.subarray(0, longestBody).toString()))
        throw wantsNoBody()
      if (body.length > longestBody) throw wantsNoBody()
      await next()
    })
  })
  return factory.createHandlers(
    refuseDeclaredOversize,
    authenticate,
    authorize(...routes.cancelMessage.permissions),
    refuseContent,
    async (c) => {
      const { accountId } = c.get('caller')
      const requestId = c.req.param('requestId') ?? ''
      const canceled = canBeRecordId(requestId)
        ? await c.get('deadline').spend(cancelSend(db, requestId, accountId))
        : undefined
      if (!canceled) throw messageNotFound()
      const { status, isNew } = canceled
      if (isNew) followEnd(cancelEnd(requestId, canceled, { accountId }))
      else if (status !== 'canceled') throw notCancelable(status)
      return answerJson(c, { requestId, status })
    },
  )
}

/** Enough for an empty object with some white space. */
const longestBody = 64
