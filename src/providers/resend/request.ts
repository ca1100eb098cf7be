import type { MediaDescription } from '../../core/messages/message.ts'
import type { Delivery } from '../delivery.ts'
import { jsonWithBase64 } from '../shared/http/http-body.ts'
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
    body: jsonWithBase64((at) => mailOf(delivery, at)),
  }
}

type At = (content: Buffer) => string

function mailOf(delivery: ResendDelivery, at: At) {
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
    ...attachmentsOf(delivery, at),
  }
}

/** As RFC 5322 quotes a name, so that it can't begin another address. */
const quoted = (name: string) => `"${name.replace(/["\\]/g, '\\$&')}"`

function attachmentsOf({ message, mediaContent, attachmentContents = [] }: ResendDelivery, at: At) {
  const media = message.type === 'media' ? attached(message.media, mediaContent, at) : undefined
  const others = (message.email?.attachments ?? []).map((attachment, index) => {
    const { filename, contentType } = attachedAs({ mediaType: 'document', ...attachment })
    const { mimetype, contentId, url } = attachment
    return {
      ...sourceOf(attachmentContents[index], url, at),
      filename,
      ...(mimetype !== undefined && { content_type: contentType }),
      ...(contentId !== undefined && { content_id: contentId }),
    }
  })
  if (!media) return others.length > 0 && { attachments: others }
  return { text: media.text, attachments: [media.attachment, ...others] }
}

const sourceOf = (content: Buffer | undefined, url: string | undefined, at: At) =>
  content ? { content: at(content) } : { path: url }

function attached(media: MediaDescription, content: Buffer | undefined, at: At) {
  const { contentType, filename: name } = attachedAs(media)
  // Without a filename, the name is made from the type.
  const filename = filenameIssue(name) ? `${media.mediaType}.bin` : name
  const type = media.mimetype !== undefined && { content_type: contentType }
  // A mail without a text would be refused.
  return {
    text: media.caption || filename,
    attachment: { ...sourceOf(content, media.mediaUrl, at), filename, ...type },
  }
}
