import type { Context, MiddlewareHandler } from 'hono'
import type { Channel } from '../../db/accounts/channels.ts'
import { smsSizeOf } from '../core/messages/segments.ts'
import { answerJson } from './answer.ts'
import type { BodySteps } from './body/body-steps.ts'
import { type ApiEnv, factory, stateOf } from './context.ts'
import { ApiError } from './errors.ts'
import { clientsTraceparent } from './http/trace-request.ts'
import { authorize } from './keys/authenticate.ts'
import { routes } from './routes.ts'
import { checkMediaContent } from './send/check-media-content.ts'
import { atOnce } from './send/check-send-at.ts'
import { answerDryRun, isDryRun } from './send/dry-run.ts'
import { type EarlierSend, hasIdempotencyKey, idempotencyOf } from './send/find-earlier.ts'
import { channelNotFound } from './send/find-own-channel.ts'
import type { SendSteps } from './send/steps.ts'

/**
 * Handles a send, on both endpoints, from its bytes to the 202. The order is a promise (docs/reference/api.md#order-of-checks):
 * a caller without permission learns nothing about channels, only valid requests count for the rate limit, and a 202 means
 * that the send is committed in PostgreSQL, even if its wake-up could not be added to the queue. A dry run takes every step but the last two.
 */
export function sendMessage(
  authenticate: MiddlewareHandler<ApiEnv>,
  { refuseDeclaredOversize, readBody, validate }: BodySteps,
  steps: SendSteps,
) {
  const { findOwnChannel, checkAgainstChannel, checkSendAt, applyTemplate } = steps
  const { limiter, findEarlier, answerRepeat, checkCeilings, record, enqueue, dryRun, dryRepeat } = steps

  const pipeline = (form: 'channelInBody' | 'channelInPath') =>
    factory.createHandlers(
      refuseDeclaredOversize,
      authenticate,
      authorize(...routes.sendMessage.permissions),
      readBody,
      validate(form),
      async (c) => {
        const state = stateOf(c)
        const { incoming } = c.env
        const isDry = isDryRun(c)
        const request = await checkMediaContent(state.request)
        const { when, issue } = request.sendAt ? await checkSendAt(state, request.sendAt) : atOnce
        if (issue && !hasIdempotencyKey(incoming)) throw new ApiError('invalid_body', issue)
        const channel = await findOwnChannel(state, c.req.param('channelId') ?? request.channelId)
        if (channel.isDeleted) return await answerRepeatOnly(c, channel, isDry)
        const rules = await checkAgainstChannel(state, request, channel)
        const message = await applyTemplate(state, request.message, channel)
        const idempotency = idempotencyOf(incoming, state, channel)
        const earlier = await findEarlier(state, idempotency)
        if (earlier) return await repeat(c, earlier, channel, isDry)
        if (issue) throw new ApiError('invalid_body', issue)
        await limiter.rateLimit(state)
        const traceparent = clientsTraceparent(incoming)
        const sms = smsSizeOf(rules, request.contact, message)
        const send = { request: { ...request, message }, channel, when, sms, traceparent }
        if (channel.hasCeiling) await checkCeilings(state, [send], { isCounted: !isDry })
        if (isDry) return answerDryRun(c, await dryRun(state, [send]))
        const recorded = await record(state, send, idempotency)
        if ('earlier' in recorded) return await answerRepeat(c, recorded.earlier, { isCounted: true })
        if (when === 'now') await enqueue(state, [recorded.wakeUp])
        return answerJson(c, { requestId: state.requestId }, 202)
      },
    )

  /** A deleted channel looks absent, except to a repeat of a request from before the deletion. */
  async function answerRepeatOnly(c: Context<ApiEnv>, channel: Channel, isDry: boolean): Promise<Response> {
    const state = stateOf(c)
    const earlier = await findEarlier(state, idempotencyOf(c.env.incoming, state, channel))
    if (!earlier) throw channelNotFound()
    return await repeat(c, earlier, channel, isDry)
  }

  const repeat = async (c: Context<ApiEnv>, earlier: EarlierSend, { channelId }: Channel, isDry: boolean) =>
    isDry
      ? answerDryRun(c, await dryRepeat(c, earlier, [c.get('request')], [channelId]))
      : await answerRepeat(c, earlier, { isCounted: false })

  return { channelInBody: pipeline('channelInBody'), channelInPath: pipeline('channelInPath') }
}
