import { byType } from '../../core/messages/message.ts'
import type { Delivery } from '../delivery.ts'
import { type EncodedBody, withBase64 } from '../shared/http/http-body.ts'
import type { HttpRequest } from '../shared/http/http-call.ts'
import { attachedAs } from '../shared/mail/attachment-name.ts'
import { headersOfMail } from '../shared/mail/mail-fields.ts'
import { subjectOf } from '../shared/mail/mail-subject.ts'
import { renderMail } from '../shared/mail/mail-template.ts'
import { filenameIssue, type ResendConfig } from './config.ts'

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
  const { requestId, contact, config } = delivery
  const { subject, ...content } = contentOf(delivery)
  return {
    from: config.from,
    to: [contact.value],
    // A template's subject may be empty after filling in the variables.
    subject: subject?.trim() || subjectOf(delivery),
    reply_to: config.replyTo,
    headers: headersOfMail(config.headers, requestId),
    tags: [{ name: 'requestId', value: requestId }],
    ...content,
  }
}

interface Content {
  subject?: string
  text?: string | undefined
  html?: string | undefined
  attachments?: object[]
}

const contentOf = ({ message, mediaContent }: ResendDelivery): Content =>
  byType(message, {
    text: ({ value }): Content => ({ text: value }),
    template: ({ definition = {}, variables }): Content => renderMail(definition, variables),
    media(media): Content {
      const { contentType, filename: name } = attachedAs(media)
      // Without a filename, the name is made from the type.
      const filename = filenameIssue(name) ? `${media.mediaType}.bin` : name
      const source = mediaContent ? { content: '' } : { path: media.mediaUrl }
      const type = media.mimetype !== undefined && { content_type: contentType }
      // A mail without a text would be refused.
      return { text: media.caption || filename, attachments: [{ ...source, filename, ...type }] }
    },
  })
