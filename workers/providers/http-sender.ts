import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import type { CallContext, HttpRequest, MediaUpload } from '../../src/providers/shared/http/http-call.ts'
import {
  type AnswerRules,
  outcomeOfAnswer,
  refusalOf,
} from '../../src/providers/shared/http/outcome-of-answer.ts'
import { isSuccess } from '../../src/providers/shared/http/status-failures.ts'
import { type HttpClient, type HttpResult, unanswered } from '../http/http.ts'
import { createCallWithToken } from './call-with-token.ts'
import type { Sender } from './sender.ts'

/** Sends by any provider that is called by HTTP: makes its request, calls once, and turns the answer into an outcome. */
export function createHttpSender<Config>(
  http: Pick<HttpClient, 'post'>,
  rules: AnswerRules<Config>,
  context: CallContext,
): Sender<Config> {
  const { call } = rules
  const withToken = call.grant && createCallWithToken(http, call.grant, call.label, context)
  return {
    async send(delivery, signal, moved): Promise<AttemptOutcome> {
      const post = (request: HttpRequest) => http.post(request, signal, moved)
      let mediaId: string | undefined
      if (call.upload) {
        const uploaded = await upload(call.upload, rules, delivery, post)
        if ('outcome' in uploaded) return uploaded
        mediaId = uploaded.mediaId
      }
      const callBy = async (by: CallContext) => {
        const request = call.request(delivery, by, mediaId)
        return 'outcome' in request ? request : await post(request)
      }
      const result = await (withToken ? withToken(delivery.config, signal, callBy) : callBy(context))
      if ('outcome' in result) return result
      return result.kind === 'answer' ? outcomeOfAnswer(result, rules, delivery.config) : unanswered(result)
    },
  }
}

/** The outcome of a failed upload: never `uncertain`, since no message was sent yet. */
type FailedUpload = Exclude<AttemptOutcome, { outcome: 'sent' | 'uncertain' }>

async function upload<Config>(
  { request, mediaIdIn }: MediaUpload<Config>,
  rules: AnswerRules<Config>,
  delivery: Delivery<Config>,
  post: (request: HttpRequest) => Promise<HttpResult>,
): Promise<{ mediaId?: string } | FailedUpload> {
  const uploading = request(delivery)
  if (!uploading) return {}
  const result = await post(uploading)
  const failed = 'the media could not be uploaded:'
  if (result.kind !== 'answer') {
    const outcome = unanswered(result)
    if (outcome.outcome === 'channel_refused' || outcome.outcome === 'not_called') return outcome
    return { outcome: 'retry_later', fault: 'provider', reason: `${failed} ${result.reason}` }
  }
  if (!isSuccess(result.status)) {
    const refusal = refusalOf(result, rules, delivery.config)
    const reason = `${failed} ${refusal.reason}`
    return refusal.outcome === 'uncertain'
      ? { ...refusal, outcome: 'retry_later', reason }
      : { ...refusal, reason }
  }
  const mediaId = mediaIdIn(result)
  if (mediaId !== undefined) return { mediaId }
  return {
    outcome: 'retry_later',
    fault: 'provider',
    reason: `${failed} the answer contains no id`,
    providerStatus: result.status,
  }
}
