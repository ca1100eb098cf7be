import { isLongerThan } from './characters.ts'
import type { Contact } from './contact.ts'
import { contentTypeAs } from './media-content.ts'
import type { MediaDescription, Message } from './message.ts'
import type { MediaLimits, ProviderRules } from './provider.ts'

/** What is known of a send when it is held against the rules of its channel's provider. */
export interface GivenSend {
  contact: Contact
  message: Message
  /** Of the bytes that came as base64, where they were recognised. */
  contentType?: string | undefined
  /** Whether providers can reach this service, to fetch media from it. */
  hasPublicUrl: boolean
}

/** Why the provider can't take the send, with the field's path; undefined where it can (docs/api.md#channel). */
export function providerFault(rules: ProviderRules, send: GivenSend): string | undefined {
  const { contact, message } = send
  if (!rules.contactTypes.includes(contact.type)) {
    return `contact.type: this channel reaches ${rules.contactTypes.join(' and ')} contacts only`
  }
  if (!rules.messageTypes.includes(message.type)) {
    return `message.type: this channel takes ${rules.messageTypes.join(' and ')} only`
  }
  if (message.type === 'text' && isLongerThan(message.text.value, rules.maxTextCharacters)) {
    return `message.text.value: at most ${rules.maxTextCharacters} characters on this channel`
  }
  if (message.type !== 'media') return undefined
  const { media } = message
  const hasContent = media.sizeBytes !== undefined
  if (hasContent && rules.fetchesMedia && !send.hasPublicUrl) {
    return 'message.media.base64: this channel takes media by mediaUrl only, since PUBLIC_BASE_URL is not set'
  }
  return rules.media && mediaFault(media, rules.media[media.mediaType], send.contentType)
}

function mediaFault(
  { mediaType, mimetype, caption, sizeBytes = 0 }: MediaDescription,
  { mimetypes, maxBytes = Infinity, hasCaption }: MediaLimits,
  contentType: string | undefined,
): string | undefined {
  if (caption && !hasCaption) return `message.media.caption: not with ${mediaType} on this channel`
  if (sizeBytes > maxBytes) {
    return `message.media.base64: ${sizeBytes} bytes; at most ${maxBytes} of ${mediaType} on this channel`
  }
  if (!mimetypes) return undefined
  const taken = `this channel takes ${mimetypes.join(', ')} as ${mediaType}`
  if (mimetype !== undefined && !mimetypes.includes(contentTypeAs(mediaType, mimetype))) {
    return `message.media.mimetype: ${taken}`
  }
  if (contentType !== undefined && !mimetypes.includes(contentTypeAs(mediaType, contentType))) {
    return `message.media.base64: is ${contentType}; ${taken}`
  }
  return undefined
}
