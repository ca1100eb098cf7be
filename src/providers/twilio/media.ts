import type { MediaLimits } from '../../core/channels/provider.ts'
import type { MediaType } from '../../core/messages/message.ts'

const megabyte = 1024 * 1024

// Twilio refuses larger media: https://www.twilio.com/docs/messaging/guides/accepted-mime-types
const mms: MediaLimits = { maxBytes: 5 * megabyte, hasCaption: true }
// The accepted types of other media depend on how Twilio sends them, so Twilio itself checks those.
const imageTypes = ['jpeg', 'png', 'gif', 'bmp', 'tiff', 'heic', 'heif'].map((name) => `image/${name}`)

// https://www.twilio.com/docs/whatsapp/guidance-whatsapp-media-messages
const whatsApp: MediaLimits = { maxBytes: 16 * megabyte, hasCaption: false }
const office = 'application/vnd.openxmlformats-officedocument'
const documentTypes = [
  'application/pdf',
  'application/msword',
  `${office}.wordprocessingml.document`,
  `${office}.presentationml.presentation`,
  `${office}.spreadsheetml.sheet`,
  'text/vcard',
  'text/x-vcard',
]
export const byWhatsApp = {
  image: {
    mimetypes: ['image/jpeg', 'image/png', 'image/webp'],
    maxBytes: 5 * megabyte,
    hasCaption: true,
  },
  video: { ...whatsApp, mimetypes: ['video/mp4'], hasCaption: true },
  document: {
    ...whatsApp,
    mimetypes: documentTypes,
    filenameIssue: () => 'not with document on this channel',
  },
  audio: { ...whatsApp, mimetypes: ['ogg', 'amr', '3gpp', 'aac', 'mpeg'].map((name) => `audio/${name}`) },
} as const satisfies Record<MediaType, MediaLimits>

export const byMms = {
  image: { ...mms, mimetypes: imageTypes },
  video: mms,
  document: mms,
  audio: mms,
} as const satisfies Record<MediaType, MediaLimits>
