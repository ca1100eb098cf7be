import { createHmac } from 'node:crypto'
import type { Handling, Outcome } from '../../src/core/outcome.ts'
import type { WebhookConfig } from '../../src/core/providers/webhook.ts'
import { withTemplateText } from '../../src/core/text-template.ts'
import { activeTraceparent } from '../../src/platform/tracing.ts'
import type { Delivery, Provider } from '../provider.ts'
import { type HttpAnswer, type HttpClient, type HttpRequest, retryAfterMs, unanswered } from './http.ts'
import { fieldsOf } from './json-fields.ts'
import { handlingOfStatus, isSuccess } from './status-handling.ts'

const ownHandlings: Record<number, Handling> = {
  // The signature was not accepted, or a firewall stood in the way: the fault is not the message's, and a secret or a
  // clock can be mended. Standard Webhooks retry every failure, and stop for nothing but a 410.
  401: 'retry_later',
  403: 'retry_later',
  410: 'channel_refused',
  425: 'retry_later',
}

/** Posts each message to the channel's URL, signed as Standard Webhooks have it (docs/api.md#webhook). */
export function webhook(http: HttpClient): Provider<WebhookConfig> {
  return {
    async send(delivery, signal): Promise<Outcome> {
      const result = await http.post(signedRequest(delivery), signal)
      return result.kind === 'answer' ? outcomeOf(result) : unanswered(result)
    },
  }
}

/** The id stays the same on every attempt, so that the receiver can drop a repeat; time and signature are new. */
function signedRequest(delivery: Delivery<WebhookConfig>): HttpRequest {
  const { requestId, config } = delivery
  const traceparent = activeTraceparent() ?? delivery.traceparent
  const timestamp = Math.floor(Date.now() / 1000)
  const body = Buffer.from(JSON.stringify(payloadOf(delivery)))
  const key = Buffer.from(config.secret.replace(/^whsec_/, ''), 'base64')
  const signature = createHmac('sha256', key)
    .update(`${requestId}.${timestamp}.`)
    .update(body)
    .digest('base64')
  return {
    url: config.url,
    headers: {
      'content-type': 'application/json',
      'webhook-id': requestId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': `v1,${signature}`,
      ...(traceparent && { traceparent }),
    },
    body,
  }
}

function payloadOf(delivery: Delivery<WebhookConfig>) {
  const { requestId, channelId, contact, flowId, conversationId } = delivery
  return { requestId, channelId, contact, message: messageOf(delivery), flowId, conversationId }
}

/** The message as the API takes it: media content is base64 again, and a registered template has its text. */
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
  const handling = handlingOfStatus(answer, ownHandlings)
  const told = { outcome: handling, reason: reasonOf(status), providerStatus: status }
  return handling === 'retry_later'
    ? { ...told, outcome: handling, retryAfterMs: retryAfterMs(answer) }
    : told
}

function reasonOf(status: number): string {
  if (status >= 300 && status < 400) {
    return `the receiver redirects (${status}), which is not followed: set the channel's url to where it is now`
  }
  if (status === 401) return "the receiver answered 401: is the channel's secret the receiver's?"
  if (status === 410) return 'the receiver wants nothing more from this channel (410)'
  return `the receiver answered ${status}`
}

/** Whatever else a 2xx says, the message was taken. */
function messageIdOf(body: string): string | undefined {
  const { id, messageId } = fieldsOf(body)
  return [id, messageId].find((given): given is string => typeof given === 'string' && given !== '')
}
