import { byType, type Message } from '../../core/messages/message.ts'
import type { Delivery } from '../delivery.ts'
import type { CallContext, HttpRequest } from '../shared/http/http-call.ts'
import type { VonageConfig } from './config.ts'
import { parametersOf } from './template.ts'
import { tokenOf } from './token.ts'

/** Sends a message: https://developer.vonage.com/en/api/messages */
export function requestFor(delivery: Delivery<VonageConfig>, context: CallContext): HttpRequest {
  const { config } = delivery
  const authorization = loginOf(config, context.nowMs())
  return {
    url: `${config.baseUrl}/v1/messages`,
    headers: { authorization, 'content-type': 'application/json', accept: 'application/json' },
    body: JSON.stringify(messageOf(delivery, context)),
  }
}

function loginOf(config: VonageConfig, nowMs: number): string {
  if (config.applicationId !== undefined) return `Bearer ${tokenOf(config, nowMs)}`
  return `Basic ${Buffer.from(`${config.apiKey}:${config.apiSecret}`).toString('base64')}`
}

function messageOf(delivery: Delivery<VonageConfig>, { mediaLink }: CallContext) {
  const { requestId, contact, message, mediaContent, config } = delivery
  return {
    channel: config.via,
    // Numbers are without their plus.
    to: contact.value.replace('+', ''),
    from: config.from.replace(/^\+/, ''),
    client_ref: requestId,
    ...contentOf(message, mediaContent && mediaLink(requestId)),
  }
}

const contentOf = (message: Message, mediaLink: string | undefined) =>
  byType(message, {
    text: ({ value }) => ({ message_type: 'text', text: value }),
    template(template) {
      const { locale, parameters } = parametersOf(template)
      return {
        message_type: 'template',
        template: { name: template.name, parameters },
        whatsapp: { policy: 'deterministic', locale },
      }
    },
    media({ mediaType, mediaUrl, caption, filename }) {
      const type = mediaType === 'document' ? 'file' : mediaType
      const url = mediaLink ?? mediaUrl
      const named = type === 'file' && { name: filename }
      return { message_type: type, [type]: { url, caption: caption || undefined, ...named } }
    },
  })
