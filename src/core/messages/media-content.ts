import { fileTypeFromBuffer } from 'file-type'
import type { MediaType } from './message.ts'
import { saysWhatItIs } from './mimetype.ts'

/** Containers of audio, video or both; the container's type doesn't tell which. */
const soundOrVideo = /^(audio|video|application)\/(mp4|x-m4[avbp]|ogg|webm|vnd\.ms-asf|x-ms-asf)(?=\s*;|$)/

/** Common unregistered names of types, with the registered name. */
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

/** Containers of office files. Content recognised as one of these may be any office file. */
export const officeContainers = ['application/zip', 'application/x-cfb']

/** The content type recognised by the first bytes; undefined if there is none. */
export async function recognise(content: Uint8Array): Promise<string | undefined> {
  return (await fileTypeFromBuffer(content).catch(() => undefined))?.mime
}

/**
 * Why content can't have a media type; undefined if it can. Unrecognised content passes, except as an image, which every
 * provider has to be able to show (docs/reference/api.md#media).
 */
export function contentIssue(mediaType: MediaType, contentType: string | undefined): string | undefined {
  if (mediaType === 'document') return undefined
  if (!contentType) return mediaType === 'image' ? 'is not recognised as an image' : undefined
  if (contentType.startsWith(`${mediaType}/`)) return undefined
  if (mediaType !== 'image' && soundOrVideo.test(contentType)) return undefined
  return `is ${contentType}, which can't be sent as ${mediaType}`
}

/**
 * The type that media is sent with: the first of the given ones that says what it is, else the one that its content is recognised as.
 *
 * @param given the types by the send and by the server of its link, in the order of their weight.
 * @param recognised by `recognise`. A container of office files isn't used, since it could be any of them.
 */
export function typeToSend(
  mediaType: MediaType,
  given: readonly (string | undefined)[],
  recognised: string | undefined,
): string | undefined {
  const said = given.find((type) => type !== undefined && saysWhatItIs(type))
  if (said !== undefined || !recognised || officeContainers.includes(recognised)) return said
  return contentTypeAs(mediaType, recognised)
}

/** A content type with its registered name; its parameters stay. */
export function withCommonName(contentType: string): string {
  return contentType.replace(/^[^;\s]+/, (name) => commonNames[name.toLowerCase()] ?? name)
}

/** A content type without parameters, in lower case. */
export function bareName(type: string): string {
  const [name = ''] = withCommonName(type).toLowerCase().split(';')
  return name.trim()
}

/** The same, with the media type that a container is sent as: `audio/mp4`. */
export function contentTypeAs(mediaType: MediaType, contentType: string): string {
  const name = bareName(contentType)
  const [, container] = soundOrVideo.exec(name)?.[0]?.split('/') ?? []
  if (!container || (mediaType !== 'audio' && mediaType !== 'video')) return name
  return `${mediaType}/${container.startsWith('x-m4') ? 'mp4' : container}`
}
