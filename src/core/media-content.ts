import { fileTypeFromBuffer } from 'file-type'
import type { MediaType } from './message.ts'

/** Containers of sound, pictures or both: their name alone doesn't tell which. */
const soundOrVideo = /^(audio|video|application)\/(mp4|x-m4[avbp]|ogg|webm|vnd\.ms-asf|x-ms-asf)/

/**
 * Says why content can't be of a media type, or undefined where it can. Content that isn't recognised passes, but for
 * an image, which every provider has to be able to show (docs/api.md#media).
 */
export async function contentFault(mediaType: MediaType, content: Uint8Array): Promise<string | undefined> {
  if (mediaType === 'document') return undefined
  const recognised = await fileTypeFromBuffer(content).catch(() => undefined)
  if (!recognised) return mediaType === 'image' ? 'is not recognised as an image' : undefined
  if (recognised.mime.startsWith(`${mediaType}/`)) return undefined
  if (mediaType !== 'image' && soundOrVideo.test(recognised.mime)) return undefined
  return `is ${recognised.mime}, which can't be sent as ${mediaType}`
}
