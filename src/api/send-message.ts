import type { Context, MiddlewareHandler } from 'hono'
import type { Channel } from '../../db/accounts/channels.ts'
import { type SendRequest, sendRequestSchemas } from '../core/send-request.ts'
import type { Runtime } from '../runtime.ts'
import { answerJson } from './answer.ts'
import { authorize } from './authenticate.ts'
import { openLargeBodies } from './body/large-bodies.ts'
import type { BodyForm } from './body/parse-body.ts'
import { readBody, refuseDeclaredOversize } from './body/read-body.ts'
import type { ClientTimeouts } from './client-timeouts.ts'
import { type ApiEnv, factory } from './context.ts'
import { templateApplier } from './send/apply-template.ts'
import { channelChecks } from './send/check-against-channel.ts'
import { checkMediaContent } from './send/check-media-content.ts'
import { enqueuer } from './send/enqueue.ts'
import {
  type EarlierSend,
  earlierSends,
  idempotencyOf,
  keyUsedBefore,
  replayAnswer,
} from './send/idempotency.ts'
import { channelLookup, channelNotFound } from './send/own-channel.ts'
import { rateLimiter } from './send/rate-limit.ts'
import { recorder } from './send/record.ts'
import { traceRecord } from './send/trace-request.ts'
import { validate } from './send/validate.ts'

/**
 * The way of a send through the API, on both endpoints, from its bytes to the 202. The order is a promise
 * (docs/reference/api.md#order-of-checks): who may not send learns nothing of channels, only good requests use up rate limit,
 * and a 202 means that the send is committed in PostgreSQL, whether or not the queue could take its wake-up.
 */
export function sendMessage(
  runtime: Runtime,
  authenticate: MiddlewareHandler<ApiEnv>,
  timeouts: ClientTimeouts,
) {
  const { settings } = runtime
  const schemas = sendRequestSchemas(settings.ALLOWED_PRIVATE_NETWORKS)
  const large = openLargeBodies(settings, timeouts)
  const ownChannel = channelLookup(runtime)
  const checkAgainstChannel = channelChecks(runtime)
  const applyTemplate = templateApplier(runtime)
  const { rateLimit, spareRateLimit } = rateLimiter(runtime)
  const findEarlier = earlierSends(runtime)
  const replay = replayAnswer(runtime)
  const record = traceRecord(recorder(runtime, findEarlier))
  const enqueue = enqueuer(runtime)

  const pipeline = (form: BodyForm) =>
    factory.createHandlers(
      refuseDeclaredOversize(settings.MAX_BODY_BYTES),
      authenticate,
      authorize('messages:send'),
      readBody(settings.MAX_BODY_BYTES, timeouts, large),
      validate(form, schemas, large),
      async (c) => {
        const asked = c.get('asked')
        const request = await checkMediaContent(asked)
        const channel = await ownChannel(c, c.req.param('channelId') ?? request.channelId)
        if (channel.isDeleted) return await answerRepeatOnly(c, asked, channel)
        await checkAgainstChannel(c, request, channel)
        const message = await applyTemplate(c, request.message, channel)
        const idempotency = idempotencyOf(c, asked, channel)
        const earlier = await findEarlier(c, idempotency)
        if (earlier) return await answerRepeat(c, earlier)
        await rateLimit(c)
        const recorded = await record(c, { ...request, message }, channel, idempotency)
        if ('earlier' in recorded) return await answerRepeat(c, recorded.earlier)
        await enqueue(c, recorded.wakeUp)
        return answerJson(c, { requestId: c.get('requestId') }, 202)
      },
    )

  /** Nothing new comes of a repeat: it uses up no rate limit, and is answered as the first request with its key was. */
  async function answerRepeat(c: Context<ApiEnv>, { requestId, isSameRequest }: EarlierSend) {
    await spareRateLimit(c)
    if (!isSameRequest) throw keyUsedBefore()
    return replay(c, requestId)
  }

  /** A deleted channel looks absent, but to the repeat of a request that was answered before. */
  async function answerRepeatOnly(c: Context<ApiEnv>, asked: SendRequest, channel: Channel) {
    const earlier = await findEarlier(c, idempotencyOf(c, asked, channel))
    if (!earlier) throw channelNotFound()
    return await answerRepeat(c, earlier)
  }

  return { channelInBody: pipeline('channelInBody'), channelInPath: pipeline('channelInPath') }
}
