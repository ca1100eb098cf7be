import type { MediaLimits, ProviderRules } from '../channels/provider.ts'
import { type Contact, contactKinds } from '../contacts/contact.ts'
import type { MailFields } from '../messages/mail.ts'
import { contentTypeAs, officeContainers } from '../messages/media-content.ts'
import type { MediaDescription, Message } from '../messages/message.ts'
import { isLongerThan } from '../requests/characters.ts'

/** A send, as far as the rules of its channel's provider need it. */
export interface GivenSend {
  contact: Contact
  message: Message
  /** Recognised type of the content sent as base64. */
  contentType?: string | undefined
  /** The countries whose phone numbers the channel sends to; null for all. */
  countries?: readonly string[] | null
  /** Whether providers can reach this service, to fetch media from it. */
  hasPublicUrl: boolean
}

/** Why the provider can't take the send, with the field's path; undefined if it can (docs/reference/providers.md). */
export function sendIssue(rules: ProviderRules, send: GivenSend): string | undefined {
  const { contact, message } = send
  const issue = unreachableIssue(rules, contact, message, send.countries)
  if (issue) return issue
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
    return 'message.media.base64: this channel takes media by mediaUrl only'
  }
  const ofMedia = rules.media && mediaIssue(media, rules.media[media.mediaType], send.contentType)
  if (ofMedia || !hasContent || !rules.fetchesMedia || media.mimetype !== undefined) return ofMedia
  return 'message.media.mimetype: required for this content, whose type is not recognised'
}

/** Why the provider can't send the message to this contact. */
export function unreachableIssue(
  rules: Pick<ProviderRules, 'mail' | 'contactTypes'>,
  contact: Contact,
  message: Pick<Message, 'email'>,
  countries?: GivenSend['countries'],
): string | undefined {
  const issue = message.email && mailIssue(rules, contact, message.email)
  if (issue) return issue
  if (rules.contactTypes.includes(contact.type))
    return countries ? countryIssue(contact, countries) : undefined
  return `contact.type: this channel reaches ${rules.contactTypes.join(' and ')} contacts only`
}

function countryIssue({ type, value }: Contact, countries: readonly string[]): string | undefined {
  const possible = contactKinds[type].countriesOf?.(value)
  if (!possible || possible.some((country) => countries.includes(country))) return undefined
  return `contact.value: this channel sends to numbers of ${countries.join(', ')} only`
}

function mailIssue(
  { mail }: Pick<ProviderRules, 'mail'>,
  { type }: Contact,
  fields: MailFields,
): string | undefined {
  if (!mail) return 'email: this channel sends no mail'
  if (type !== 'email') return 'email: only to a contact of the type email'
  return mail.issueOf?.(fields)
}

function mediaIssue(
  media: MediaDescription,
  limits: MediaLimits,
  contentType: string | undefined,
): string | undefined {
  const { mediaType, caption, filename, sizeBytes = 0 } = media
  const { maxBytes = Infinity, hasCaption, filenameIssue } = limits
  if (caption && !hasCaption) return `message.media.caption: not with ${mediaType} on this channel`
  const nameIssue = filename !== undefined && filenameIssue?.(filename)
  if (nameIssue) return `message.media.filename: ${nameIssue}`
  if (sizeBytes > maxBytes) {
    return `message.media.base64: ${sizeBytes} bytes; at most ${maxBytes} of ${mediaType} on this channel`
  }
  return mimetypeIssue(media, limits, contentType)
}

function mimetypeIssue(
  { mediaType, mimetype, sizeBytes }: MediaDescription,
  { mimetypes, base64Mimetypes = mimetypes }: MediaLimits,
  contentType: string | undefined,
): string | undefined {
  const taken = sizeBytes === undefined ? mimetypes : base64Mimetypes
  if (!taken) return undefined
  const takes = (type: string) => taken.includes(contentTypeAs(mediaType, type))
  const words = `this channel takes ${taken.join(', ')} as ${mediaType}`
  // Only if the type is limited for links too. The bytes of a docx say only that it is a zip.
  const isKnown = contentType !== undefined && !officeContainers.includes(contentType)
  if (mimetypes && isKnown && !takes(contentType)) {
    return `message.media.base64: is ${contentType}; ${words}`
  }
  if (mimetype !== undefined) return takes(mimetype) ? undefined : `message.media.mimetype: ${words}`
  return sizeBytes === undefined ? undefined : `message.media.mimetype: required for this content; ${words}`
}
