import { fileTypeFromBuffer } from 'file-type'
import type { MediaType } from './message.ts'

/** Containers of sound, pictures or both: their name alone doesn't tell which. */
const soundOrVideo = /^(audio|video|application)\/(mp4|x-m4[avbp]|ogg|webm|vnd\.ms-asf|x-ms-asf)(?=\s*;|$)/

/** Names that are in use for types whose registered name is another. */
const commonNames: Record<string, string> = {
  'image/jpg': 'image/jpeg',
  'image/pjpeg': 'image/jpeg',
  'image/x-png': 'image/png',
  'audio/mp3': 'audio/mpeg',
  'audio/x-mp3': 'audio/mpeg',
  'audio/x-aac': 'audio/aac',
  'audio/x-wav': 'audio/wav',
  'audio/wave': 'audio/wav',
  'video/3gp': 'video/3gpp',
  'application/x-pdf': 'application/pdf',
}

/** Office files come in these: what is recognised as no more than one of them may well be one. */
const officeContainers = ['application/zip', 'application/x-cfb']

/** What the content's first bytes show it to be; undefined where they aren't recognised. */
export async function recognise(content: Uint8Array): Promise<string | undefined> {
  return (await fileTypeFromBuffer(content).catch(() => undefined))?.mime
}

/**
 * Says why content can't be of a media type, or undefined where it can. Content that isn't recognised passes, but for
 * an image, which every provider has to be able to show (docs/reference/api.md#media).
 */
export function contentFault(mediaType: MediaType, contentType: string | undefined): string | undefined {
  if (mediaType === 'document') return undefined
  if (!contentType) return mediaType === 'image' ? 'is not recognised as an image' : undefined
  if (contentType.startsWith(`${mediaType}/`)) return undefined
  if (mediaType !== 'image' && soundOrVideo.test(contentType)) return undefined
  return `is ${contentType}, which can't be sent as ${mediaType}`
}

/** What a media is called where only its content tells; undefined where that would say the wrong thing. */
export function typeOfContent(mediaType: MediaType, contentType: string | undefined): string | undefined {
  if (!contentType || officeContainers.includes(contentType)) return undefined
  return contentTypeAs(mediaType, contentType)
}

/** A content type by the name that it goes by; its parameters stay. */
export function withCommonName(contentType: string): string {
  return contentType.replace(/^[^;\s]+/, (name) => commonNames[name.toLowerCase()] ?? name)
}

/** A content type without parameters, in lower case; that of a container is named as what it is sent as. */
export function contentTypeAs(mediaType: MediaType, contentType: string): string {
  const [bare = ''] = withCommonName(contentType).toLowerCase().split(';')
  const name = bare.trim()
  const [, container] = soundOrVideo.exec(name)?.[0]?.split('/') ?? []
  if (!container || (mediaType !== 'audio' && mediaType !== 'video')) return name
  return `${mediaType}/${container.startsWith('x-m4') ? 'mp4' : container}`
}
