import type { Context } from 'hono'
import { findSandboxMedia } from '../../../db/support/sandbox-messages.ts'
import { contentTypeAs, recognise } from '../../core/media-content.ts'
import type { MediaDescription, MediaType } from '../../core/message.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import type { AdminRuntime } from '../context.ts'
import { PageError } from '../errors.tsx'

/** What a browser may show within a page. None of them can hold a script; all else is a download. */
const shown = {
  image: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  audio: ['audio/mpeg', 'audio/mp4', 'audio/ogg', 'audio/wav', 'audio/webm', 'audio/aac'],
  video: ['video/mp4', 'video/webm', 'video/ogg'],
} as const

export type ShownType = { kind: keyof typeof shown; contentType: string }

/**
 * How a media can be shown, by what its bytes are recognised as, whatever it was called; undefined where it is a
 * download.
 */
export async function shownType(mediaType: MediaType, content: Uint8Array): Promise<ShownType | undefined> {
  if (mediaType === 'document') return undefined
  const recognised = await recognise(content)
  const contentType = recognised && contentTypeAs(mediaType, recognised)
  return (shown[mediaType] as readonly string[]).includes(contentType ?? '')
    ? { kind: mediaType, contentType: contentType ?? '' }
    : undefined
}

export function inboxMedia({ db }: AdminRuntime) {
  return async (c: Context): Promise<Response> => {
    const id = c.req.param('id') ?? ''
    const found = canBeRecordId(id) ? await findSandboxMedia(db, id) : undefined
    if (!found) throw new PageError(404, 'There is no such media, or it is no longer kept.')
    const { content, description } = found
    const type = await shownType(description.mediaType, content)
    return c.body(new Uint8Array(content), 200, {
      'Content-Type': type?.contentType ?? 'application/octet-stream',
      'Content-Disposition': disposition(type ? 'inline' : 'attachment', description),
      'Content-Security-Policy': "default-src 'none'; sandbox",
    })
  }
}

/** The file's own name as RFC 8187 writes it: nothing of it can end the header or the value. */
function disposition(how: 'inline' | 'attachment', { filename, mediaType }: MediaDescription): string {
  const name = encodeURIComponent((filename ?? mediaType).toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${how}; filename*=UTF-8''${name}`
}
