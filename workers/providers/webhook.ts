import { createHmac } from 'node:crypto'
import type { Failure, Outcome } from '../../src/core/outcome.ts'
import type { WebhookConfig } from '../../src/core/providers/webhook.ts'
import { withTemplateText } from '../../src/core/text-template.ts'
import { activeTraceparent } from '../../src/platform/tracing.ts'
import { type HttpAnswer, type HttpClient, type HttpRequest, unanswered } from './http.ts'
import { fieldsOf } from './json-fields.ts'
import type { Delivery, Provider } from './provider.ts'
import { retryAfterMs } from './retry-wait.ts'
import { failureOfStatus, isSuccess } from './status-failures.ts'

const retryLater = { outcome: 'retry_later', fault: 'provider' } as const

const ownFailures: Record<number, Failure> = {
  // A receiver's bad deploy must not lose what was due meanwhile.
  404: retryLater,
  // The signature was not accepted, or a firewall stood in the way: the fault is not the message's, and a secret or a
  // clock can be fixed. Standard Webhooks retry every failure, and stop for nothing but a 410.
  401: retryLater,
  403: retryLater,
  410: { outcome: 'channel_refused', fault: 'sender' },
  425: retryLater,
}

/** Posts each message to the channel's URL, signed as Standard Webhooks have it (docs/reference/providers/webhook.md). */
export function webhook(http: HttpClient, nowMs: () => number = Date.now): Provider<WebhookConfig> {
  return {
    async send(delivery, signal, moved): Promise<Outcome> {
      const result = await http.post(signedRequest(delivery, nowMs()), signal, moved)
      return result.kind === 'answer' ? outcomeOf(result) : unanswered(result)
    },
  }
}

/**
 * The id stays the same on every attempt, so that the receiver can drop a repeat; time and signatures are new.
 *
 * @param nowMs by PostgreSQL's clock: receivers refuse a time that is some minutes off.
 */
function signedRequest(delivery: Delivery<WebhookConfig>, nowMs: number): HttpRequest {
  const { requestId, config } = delivery
  const traceparent = activeTraceparent() ?? delivery.traceparent
  const timestamp = Math.floor(nowMs / 1000)
  const body = Buffer.from(JSON.stringify(payloadOf(delivery)))
  const signatures = [config.secret].flat().map((secret) => {
    const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
    return `v1,${createHmac('sha256', key).update(`${requestId}.${timestamp}.`).update(body).digest('base64')}`
  })
  return {
    url: config.url,
    headers: {
      'content-type': 'application/json',
      'webhook-id': requestId,
      'webhook-timestamp': String(timestamp),
      'webhook-signature': signatures.join(' '),
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
  return {
    ...failureOfStatus(answer, ownFailures),
    reason: reasonOf(status),
    retryAfterMs: retryAfterMs(answer),
    providerStatus: status,
  }
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
