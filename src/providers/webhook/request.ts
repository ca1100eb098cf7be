import type { MailFields } from '../../core/messages/mail.ts'
import { withTemplateText } from '../../core/messages/text-template.ts'
import type { Delivery } from '../delivery.ts'
import { type EncodedBody, jsonWithLargeBase64 } from '../shared/http/http-body.ts'
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

/** Large content is encoded while it is signed, and again while it is written. */
function bodyOf(delivery: Delivery<WebhookConfig>): Buffer | EncodedBody {
  const body = jsonWithLargeBase64((encode) => payloadOf(delivery, encode))
  return typeof body === 'string' ? Buffer.from(body) : body
}

type Encode = (content: Buffer) => string

function payloadOf(delivery: Delivery<WebhookConfig>, encode: Encode) {
  const { requestId, channelId, contact, flowId, conversationId } = delivery
  const { email, ...message } = messageOf(delivery, encode)
  return {
    requestId,
    channelId,
    contact,
    message,
    email: email && mailOf(email, delivery, encode),
    flowId,
    conversationId,
  }
}

/** The message in the form of the API, with media content as base64, and with the text of a registered template. */
function messageOf({ message, mediaContent }: Delivery<WebhookConfig>, encode: Encode) {
  if (message.type !== 'media') return withTemplateText(message)
  const { sizeBytes: _, ...media } = message.media
  return { ...message, media: { ...media, base64: mediaContent && encode(mediaContent) } }
}

function mailOf(
  { attachments, ...fields }: MailFields,
  { attachmentContents = [] }: Delivery<WebhookConfig>,
  encode: Encode,
) {
  if (!attachments) return fields
  const withContents = attachments.map(({ sizeBytes: _, ...attachment }, index) => {
    const content = attachmentContents[index]
    return { ...attachment, base64: content && encode(content) }
  })
  return { ...fields, attachments: withContents }
}
