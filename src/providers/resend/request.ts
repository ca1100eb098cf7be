import type { MediaDescription } from '../../core/messages/message.ts'
import type { Delivery } from '../delivery.ts'
import { type EncodedBody, withBase64 } from '../shared/http/http-body.ts'
import type { HttpRequest } from '../shared/http/http-call.ts'
import { attachedAs } from '../shared/mail/attachment-name.ts'
import { mailOfSend } from '../shared/mail/mail-of-send.ts'
import { filenameIssue, type ResendConfig, requestIdTag } from './config.ts'

type ResendDelivery = Delivery<ResendConfig>

/** Equal for each attempt, since Resend compares the bodies of one Idempotency-Key. */
export function requestFor(delivery: ResendDelivery): HttpRequest {
  const { requestId, config } = delivery
  return {
    url: `${config.baseUrl}/emails`,
    headers: {
      authorization: `Bearer ${config.apiKey}`,
      'content-type': 'application/json',
      'idempotency-key': requestId,
    },
    body: bodyOf(delivery),
  }
}

const noContent = '"attachments":[{"content":""'

function bodyOf(delivery: ResendDelivery): string | EncodedBody {
  const json = JSON.stringify(mailOf(delivery))
  if (!delivery.mediaContent) return json
  // Within a text of the mail, its quotes would be escaped.
  const at = json.indexOf(noContent) + noContent.length - 1
  return withBase64(json.slice(0, at), delivery.mediaContent, json.slice(at))
}

function mailOf(delivery: ResendDelivery) {
  const { requestId, contact, config, message } = delivery
  const { from, subject, replyTo, headers, tags = {}, text, html } = mailOfSend(delivery)
  const { fromName } = message.email ?? {}
  return {
    from: fromName === undefined || !from ? config.from : `${quoted(fromName)} <${from.address}>`,
    to: [contact.value],
    subject,
    reply_to: replyTo,
    headers,
    tags: [
      { name: requestIdTag, value: requestId },
      ...Object.entries(tags).map(([name, value]) => ({ name, value })),
    ],
    text,
    html,
    ...(message.type === 'media' && attached(message.media, delivery.mediaContent)),
  }
}

/** As RFC 5322 quotes a name, so that it can't begin another address. */
const quoted = (name: string) => `"${name.replace(/["\\]/g, '\\$&')}"`

function attached(media: MediaDescription, content: Buffer | undefined) {
  const { contentType, filename: name } = attachedAs(media)
  // Without a filename, the name is made from the type.
  const filename = filenameIssue(name) ? `${media.mediaType}.bin` : name
  const source = content ? { content: '' } : { path: media.mediaUrl }
  const type = media.mimetype !== undefined && { content_type: contentType }
  // A mail without a text would be refused.
  return { text: media.caption || filename, attachments: [{ ...source, filename, ...type }] }
}
