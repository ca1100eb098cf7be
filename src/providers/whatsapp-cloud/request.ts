import { contentTypeAs } from '../../core/messages/media-content.ts'
import { byType, type Message, type TemplateMessage } from '../../core/messages/message.ts'
import type { Delivery } from '../delivery.ts'
import type { CallContext, HttpRequest, MediaUpload } from '../shared/http/http-call.ts'
import { multipartForm } from '../shared/http/multipart.ts'
import { mediaIdIn } from './answer.ts'
import type { WhatsAppCloudConfig } from './config.ts'
import { filledTemplate } from './template.ts'

type WhatsAppDelivery = Delivery<WhatsAppCloudConfig>

export function requestFor(delivery: WhatsAppDelivery, _: CallContext, mediaId?: string): HttpRequest {
  const body = JSON.stringify(payloadOf(delivery, mediaId))
  return requestTo('messages', delivery.config, 'application/json', body)
}

/** Media given as base64 is uploaded, and then sent by its id. */
export const upload: MediaUpload<WhatsAppCloudConfig> = {
  request({ message, mediaContent, config }) {
    if (message.type !== 'media' || !mediaContent) return undefined
    const { mediaType, mimetype = 'application/octet-stream', filename = 'media' } = message.media
    const type = contentTypeAs(mediaType, mimetype)
    const file = { name: 'file', filename, contentType: type, content: mediaContent }
    const form = multipartForm({ messaging_product: 'whatsapp', type }, file)
    return requestTo('media', config, form.contentType, form.body)
  },
  mediaIdIn,
}

function payloadOf({ requestId, contact, message, config }: WhatsAppDelivery, mediaId: string | undefined) {
  return {
    messaging_product: 'whatsapp',
    recipient_type: 'individual',
    // The + stays: otherwise WhatsApp would prefix the sender's country code.
    to: contact.value,
    biz_opaque_callback_data: requestId,
    ...contentOf(message, mediaId, config),
  }
}

/** The message's content, in a field named by its type. */
const contentOf = (message: Message, mediaId: string | undefined, config: WhatsAppCloudConfig) =>
  byType(message, {
    text: ({ value }) => ({ type: 'text', text: { body: value } }),
    template: (template) => ({ type: 'template', template: templateOf(template, config) }),
    media({ mediaType, mediaUrl, caption, filename }) {
      const source = mediaId === undefined ? { link: mediaUrl } : { id: mediaId }
      const name = mediaType === 'document' && { filename }
      return { type: mediaType, [mediaType]: { ...source, caption: caption || undefined, ...name } }
    },
  })

function templateOf(given: TemplateMessage, config: WhatsAppCloudConfig) {
  const { language, components } = filledTemplate(given, config.defaultLanguage)
  return {
    name: given.name,
    language: { code: language },
    ...(components.length > 0 && { components }),
  }
}

function requestTo(
  what: 'messages' | 'media',
  { baseUrl, apiVersion, phoneNumberId, accessToken, keyHeader }: WhatsAppCloudConfig,
  contentType: string,
  body: HttpRequest['body'],
): HttpRequest {
  // https://docs.360dialog.com/partner/integration/waba-integration: without the number's id in the path.
  if (keyHeader) {
    return {
      url: `${baseUrl}/${what}`,
      headers: { [keyHeader.toLowerCase()]: accessToken, 'content-type': contentType },
      body,
    }
  }
  return {
    url: `${baseUrl}/${apiVersion}/${phoneNumberId}/${what}`,
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': contentType },
    body,
  }
}
