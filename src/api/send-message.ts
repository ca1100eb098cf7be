import type { Context, MiddlewareHandler } from 'hono'
import type { Channel } from '../../db/accounts/channels.ts'
import type { Runtime } from '../runtime.ts'
import { answerJson } from './answer.ts'
import { authorize } from './authenticate.ts'
import { bodySteps } from './body/body-steps.ts'
import type { BodyForm } from './body/parse-body.ts'
import type { ClientTimeouts } from './client-timeouts.ts'
import { type ApiEnv, factory, stateOf } from './context.ts'
import { repeatAnswerer } from './send/answer-repeat.ts'
import { templateApplier } from './send/apply-template.ts'
import { channelChecker } from './send/check-against-channel.ts'
import { checkMediaContent } from './send/check-media-content.ts'
import { enqueuer } from './send/enqueue.ts'
import { earlierSendFinder, idempotencyOf } from './send/find-earlier.ts'
import { channelNotFound, ownChannelFinder } from './send/find-own-channel.ts'
import { rateLimiter } from './send/rate-limit.ts'
import { recorder } from './send/record.ts'
import { clientsTraceparent } from './trace-request.ts'

/**
 * Handles a send, on both endpoints, from its bytes to the 202. The order is a promise (docs/reference/api.md#order-of-checks):
 * a caller without permission learns nothing about channels, only valid requests count for the rate limit, and a 202 means
 * that the send is committed in PostgreSQL, even if its wake-up could not be added to the queue.
 */
export function sendMessage(
  runtime: Runtime,
  authenticate: MiddlewareHandler<ApiEnv>,
  timeouts: ClientTimeouts,
) {
  const { refuseDeclaredOversize, readBody, validate } = bodySteps(runtime.settings, timeouts)
  const findOwnChannel = ownChannelFinder(runtime)
  const checkAgainstChannel = channelChecker(runtime)
  const applyTemplate = templateApplier(runtime)
  const limiter = rateLimiter(runtime)
  const findEarlier = earlierSendFinder(runtime)
  const answerRepeat = repeatAnswerer(runtime, limiter)
  const record = recorder(runtime, findEarlier)
  const enqueue = enqueuer(runtime)

  const pipeline = (form: BodyForm) =>
    factory.createHandlers(
      refuseDeclaredOversize,
      authenticate,
      authorize('messages:send'),
      readBody,
      validate(form),
      async (c) => {
        const state = stateOf(c)
        const { incoming } = c.env
        const request = await checkMediaContent(state.request)
        const channel = await findOwnChannel(state, c.req.param('channelId') ?? request.channelId)
        if (channel.isDeleted) return await answerRepeatOnly(c, channel)
        await checkAgainstChannel(state, request, channel)
        const message = await applyTemplate(state, request.message, channel)
        const idempotency = idempotencyOf(incoming, state, channel)
        const earlier = await findEarlier(state, idempotency)
        if (earlier) return await answerRepeat(c, earlier, { isCounted: false })
        await limiter.rateLimit(state)
        const traceparent = clientsTraceparent(incoming)
        const recorded = await record(state, { ...request, message }, channel, idempotency, traceparent)
        if ('earlier' in recorded) return await answerRepeat(c, recorded.earlier, { isCounted: true })
        await enqueue(state, recorded.wakeUp)
        return answerJson(c, { requestId: state.requestId }, 202)
      },
    )

  /** A deleted channel looks absent, except to a repeat of a request from before the deletion. */
  async function answerRepeatOnly(c: Context<ApiEnv>, channel: Channel): Promise<Response> {
    const state = stateOf(c)
    const earlier = await findEarlier(state, idempotencyOf(c.env.incoming, state, channel))
    if (!earlier) throw channelNotFound()
    return await answerRepeat(c, earlier, { isCounted: false })
  }

  return { channelInBody: pipeline('channelInBody'), channelInPath: pipeline('channelInPath') }
}
