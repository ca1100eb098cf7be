import { withTemplateText } from '../../core/messages/text-template.ts'
import type { Delivery } from '../delivery.ts'
import { type EncodedBody, withBase64 } from '../shared/http/http-body.ts'
import type { CallContext, HttpRequest } from '../shared/http/http-call.ts'
import { signatureHeaders } from '../shared/http/standard-webhooks.ts'
import type { WebhookConfig } from './config.ts'

/** Signed by Standard Webhooks (docs/reference/providers/webhook.md). */
export function requestFor(delivery: Delivery<WebhookConfig>, context: CallContext): HttpRequest {
  const { requestId, config } = delivery
  const traceparent = context.traceparent() ?? delivery.traceparent
  const body = bodyOf(delivery)
  const secrets = [config.secret].flat()
  return {
    url: config.url,
    headers: {
      ...signatureHeaders({ id: requestId, body, secrets, nowMs: context.nowMs() }),
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
  const { email, ...message } = messageOf(delivery)
  return { requestId, channelId, contact, message, email, flowId, conversationId }
}

/** The message in the form of the API, with media content as base64, and with the text of a registered template. */
function messageOf({ message, mediaContent }: Delivery<WebhookConfig>) {
  if (message.type !== 'media') return withTemplateText(message)
  const { sizeBytes: _, ...media } = message.media
  return { ...message, media: { ...media, base64: mediaContent?.toString('base64') } }
}
