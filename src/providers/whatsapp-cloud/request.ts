import {
  type HttpAnswer,
  type HttpClient,
  type HttpRequest,
  type HttpResult,
  unanswered,
} from '../../../workers/http/http.ts'
import type { Delivery, Provider } from '../../../workers/providers/provider.ts'
import { contentTypeAs } from '../../core/messages/media-content.ts'
import {
  byType,
  type MediaDescription,
  type Message,
  type TemplateMessage,
} from '../../core/messages/message.ts'
import type { AttemptOutcome, Outcome } from '../../core/sends/outcome.ts'
import { jsonFieldsOf } from '../shared/http/json-fields.ts'
import { multipartForm } from '../shared/http/multipart.ts'
import { isSuccess } from '../shared/http/status-failures.ts'
import { refusal } from './answer.ts'
import type { WhatsAppCloudConfig } from './config.ts'
import { filledTemplate } from './template.ts'

type WhatsAppDelivery = Delivery<WhatsAppCloudConfig>

/** Sends by Meta's Cloud API, after uploading media given as base64 (docs/reference/providers/whatsapp-cloud.md). */
export function whatsappCloud(http: HttpClient): Provider<WhatsAppCloudConfig> {
  return {
    async send(delivery, signal, moved): Promise<AttemptOutcome> {
      const { message, mediaContent, config } = delivery
      let mediaId: string | undefined
      if (message.type === 'media' && mediaContent) {
        const upload = await uploaded(message.media, mediaContent, config, (request) =>
          http.post(request, signal, moved),
        )
        if ('outcome' in upload) return upload
        mediaId = upload.id
      }
      const body = JSON.stringify(payloadOf(delivery, mediaId))
      const result = await http.post(requestTo('messages', config, 'application/json', body), signal)
      if (result.kind !== 'answer') return unanswered(result)
      return isSuccess(result.status) ? sentBy(result) : refusal(result, config)
    },
  }
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

/** Uploads media and returns its id. A failed upload is never uncertain, since no message was sent yet. */
async function uploaded(
  { mediaType, mimetype = 'application/octet-stream', filename = 'media' }: MediaDescription,
  content: Buffer,
  config: WhatsAppCloudConfig,
  post: (request: HttpRequest) => Promise<HttpResult>,
): Promise<{ id: string } | AttemptOutcome> {
  const type = contentTypeAs(mediaType, mimetype)
  const file = { name: 'file', filename, contentType: type, content }
  const form = multipartForm({ messaging_product: 'whatsapp', type }, file)
  const result = await post(requestTo('media', config, form.contentType, form.body))
  const failed = 'the media could not be uploaded:'
  if (result.kind !== 'answer') {
    const outcome = unanswered(result)
    if (outcome.outcome === 'channel_refused' || outcome.outcome === 'not_called') return outcome
    return { outcome: 'retry_later', fault: 'provider', reason: `${failed} ${result.reason}` }
  }
  if (!isSuccess(result.status)) {
    const outcome = refusal(result, config)
    return { ...outcome, reason: `${failed} ${outcome.reason}` }
  }
  const id = idOf([jsonFieldsOf(result.body)])
  if (id) return { id }
  return {
    outcome: 'retry_later',
    fault: 'provider',
    reason: `${failed} the answer contains no id`,
    providerStatus: result.status,
  }
}

function requestTo(
  what: 'messages' | 'media',
  { baseUrl, apiVersion, phoneNumberId, accessToken }: WhatsAppCloudConfig,
  contentType: string,
  body: HttpRequest['body'],
): HttpRequest {
  return {
    url: `${baseUrl}/${apiVersion}/${phoneNumberId}/${what}`,
    headers: { authorization: `Bearer ${accessToken}`, 'content-type': contentType },
    body,
  }
}

/** A 2xx means accepted, whatever its body. */
function sentBy({ status, body }: HttpAnswer): Outcome {
  const { messages } = jsonFieldsOf(body)
  return {
    outcome: 'sent',
    providerMessageId: idOf(messages),
    providerStatus: status,
    providerCode: heldBackBy(messages),
  }
}

/** `{"messages":[{"id":"wamid.…","message_status":"held_for_quality_assessment"}]}`: accepted, but WhatsApp may still drop it. */
function heldBackBy(list: unknown): string | undefined {
  const status: unknown = Array.isArray(list) ? Object(list[0]).message_status : undefined
  const isKnownForm = typeof status === 'string' && /^[a-z_]{1,64}$/.test(status)
  return isKnownForm && status !== 'accepted' ? status : undefined
}

function idOf(list: unknown): string | undefined {
  const id: unknown = Array.isArray(list) ? Object(list[0]).id : undefined
  return typeof id === 'string' && id !== '' ? id : undefined
}
