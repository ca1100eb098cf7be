import type { MediaLimits } from '../../../core/channels/provider.ts'
import type { MediaType } from '../../../core/messages/message.ts'

// https://developers.facebook.com/documentation/business-messaging/whatsapp/business-phone-numbers/media#supported-media-types
const images = ['image/jpeg', 'image/png']
const videos = ['video/mp4', 'video/3gpp']
const audios = ['audio/aac', 'audio/amr', 'audio/mpeg', 'audio/mp4', 'audio/ogg']
const documents = [
  'application/pdf',
  'text/plain',
  'application/msword',
  'application/vnd.ms-excel',
  'application/vnd.ms-powerpoint',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation',
]

/** That page doesn't say which megabyte it means. The larger one refuses nothing that WhatsApp may accept. */
const megabyte = 1024 * 1024

/** WhatsApp's own limits. */
export const whatsAppMedia = {
  image: { mimetypes: images, maxBytes: 5 * megabyte, hasCaption: true },
  video: { mimetypes: videos, maxBytes: 16 * megabyte, hasCaption: true },
  audio: { mimetypes: audios, maxBytes: 16 * megabyte, hasCaption: false },
  document: {
    // An upload of any other type is refused with code 100. Media by link may have any type.
    base64Mimetypes: [...documents, ...images, ...videos, ...audios],
    maxBytes: 100 * megabyte,
    hasCaption: true,
  },
} as const satisfies Record<MediaType, MediaLimits>
