import { type EncodedBody, withBase64 } from '../../../workers/http/body-pieces.ts'
import { type HttpAnswer, type HttpClient, type HttpRequest, unanswered } from '../../../workers/http/http.ts'
import type { Delivery, Provider } from '../../../workers/providers/provider.ts'
import { withTemplateText } from '../../core/messages/text-template.ts'
import type { AttemptOutcome, Failure, Outcome } from '../../core/sends/outcome.ts'
import { activeTraceparent } from '../../platform/log/tracing.ts'
import { jsonFieldsOf } from '../shared/http/json-fields.ts'
import { retryAfterMs } from '../shared/http/retry-wait.ts'
import { signatureHeaders } from '../shared/http/standard-webhooks.ts'
import { failureOfStatus, isSuccess } from '../shared/http/status-failures.ts'
import type { WebhookConfig } from './config.ts'

const retryLater = { outcome: 'retry_later', fault: 'provider' } as const

const ownFailures: Record<number, Failure> = {
  // A faulty deploy of the receiver must not lose messages.
  404: retryLater,
  // A refused signature or a firewall is not the message's fault, and the receiver can fix its secret or clock. Standard
  // Webhooks say to retry every failure, and to stop only at a 410.
  401: retryLater,
  403: retryLater,
  410: { outcome: 'channel_refused', fault: 'sender' },
  425: retryLater,
}

/** Posts each message to the channel's URL, signed by Standard Webhooks (docs/reference/providers/webhook.md). */
export function webhook(http: HttpClient, nowMs: () => number = Date.now): Provider<WebhookConfig> {
  return {
    async send(delivery, signal, moved): Promise<AttemptOutcome> {
      const result = await http.post(signedRequest(delivery, nowMs()), signal, moved)
      return result.kind === 'answer' ? outcomeOf(result) : unanswered(result)
    },
  }
}

function signedRequest(delivery: Delivery<WebhookConfig>, nowMs: number): HttpRequest {
  const { requestId, config } = delivery
  const traceparent = activeTraceparent() ?? delivery.traceparent
  const body = bodyOf(delivery)
  const secrets = [config.secret].flat()
  return {
    url: config.url,
    headers: {
      ...signatureHeaders({ id: requestId, body, secrets, nowMs }),
      ...(traceparent && { traceparent }),
    },
    body,
  }
}

/** Content of this size is encoded while it is signed, and again while it is written. */
const largeBytes = 256 * 1024
const noContent = '"base64":""'

function bodyOf(delivery: Delivery<WebhookConfig>): Buffer | EncodedBody {
  const { mediaContent } = delivery
  if (!mediaContent || mediaContent.length < largeBytes)
    return Buffer.from(JSON.stringify(payloadOf(delivery)))
  const around = JSON.stringify(payloadOf({ ...delivery, mediaContent: Buffer.alloc(0) }))
  // Within a text of the message, its quotes would be escaped.
  const at = around.indexOf(noContent) + noContent.length - 1
  return withBase64(around.slice(0, at), mediaContent, around.slice(at))
}

function payloadOf(delivery: Delivery<WebhookConfig>) {
  const { requestId, channelId, contact, flowId, conversationId } = delivery
  return { requestId, channelId, contact, message: messageOf(delivery), flowId, conversationId }
}

/** The message in the form of the API, with media content as base64, and with the text of a registered template. */
function messageOf({ message, mediaContent }: Delivery<WebhookConfig>) {
  if (message.type !== 'media') return withTemplateText(message)
  const { sizeBytes: _, ...media } = message.media
  return { ...message, media: { ...media, base64: mediaContent?.toString('base64') } }
}

function outcomeOf(answer: HttpAnswer): Outcome {
  const { status } = answer
  if (isSuccess(status)) {
    return { outcome: 'sent', providerMessageId: messageIdOf(answer.body), providerStatus: status }
  }
  return {
    ...failureOfStatus(answer, ownFailures),
    reason: reasonOf(status),
    retryAfterMs: retryAfterMs(answer),
    providerStatus: status,
  }
}

function reasonOf(status: number): string {
  if (status >= 300 && status < 400) {
    return `the receiver redirects (${status}), which is not followed: set the channel's url to the new address`
  }
  if (status === 401)
    return "the receiver answered 401: check that channel and receiver have the same secret, and the receiver's clock"
  if (status === 410) return 'the receiver accepts no more messages from this channel (410)'
  return `the receiver answered ${status}`
}

/** The message id is optional: a 2xx means accepted, whatever its body. */
function messageIdOf(body: string): string | undefined {
  const { id, messageId } = jsonFieldsOf(body)
  return [id, messageId].find((given): given is string => typeof given === 'string' && given !== '')
}
