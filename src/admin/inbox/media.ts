import type { Context } from 'hono'
import { findSandboxContents } from '../../../db/sends/sandbox-messages.ts'
import { contentTypeAs, recognise } from '../../core/messages/media-content.ts'
import type { MediaDescription, MediaType } from '../../core/messages/message.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import type { AdminRuntime } from '../context.ts'
import { PageError } from '../errors.tsx'

/** The content types that a page may embed, because none of them can contain a script. All others are downloads. */
const shown = {
  image: ['image/png', 'image/jpeg', 'image/gif', 'image/webp'],
  audio: ['audio/mpeg', 'audio/mp4', 'audio/ogg', 'audio/wav', 'audio/webm', 'audio/aac'],
  video: ['video/mp4', 'video/webm', 'video/ogg'],
} as const

export type ShownType = { kind: keyof typeof shown; contentType: string }

/**
 * The type as which media can be embedded, recognised by its bytes alone, not by its declared type or filename; undefined
 * if it has to be a download.
 */
export async function shownType(mediaType: MediaType, content: Uint8Array): Promise<ShownType | undefined> {
  if (mediaType === 'document') return undefined
  const recognised = await recognise(content)
  const contentType = recognised && contentTypeAs(mediaType, recognised)
  return (shown[mediaType] as readonly string[]).includes(contentType ?? '')
    ? { kind: mediaType, contentType: contentType ?? '' }
    : undefined
}

const notKept = () => new PageError(404, 'There is no such file, or it is no longer kept.')

const find = async ({ db }: AdminRuntime, c: Context) => {
  const id = c.req.param('id') ?? ''
  return canBeRecordId(id) ? await findSandboxContents(db, id) : undefined
}

/** The media of a message, to be shown or downloaded. */
export function inboxMedia(runtime: AdminRuntime) {
  return async (c: Context): Promise<Response> => {
    const { message, mediaContent: content } = (await find(runtime, c)) ?? {}
    if (message?.type !== 'media' || !content) throw notKept()
    const { media } = message
    const type = await shownType(media.mediaType, content)
    return answerFile(c, content, type?.contentType, disposition(type ? 'inline' : 'attachment', media))
  }
}

/** A file of a mail, to be downloaded. */
export function inboxAttachment(runtime: AdminRuntime) {
  return async (c: Context): Promise<Response> => {
    const index = Number(c.req.param('index'))
    const { message, attachmentContents } = (await find(runtime, c)) ?? {}
    const described = message?.email?.attachments?.[index]
    const content = attachmentContents?.[index]
    if (!described || !content) throw notKept()
    return answerFile(
      c,
      content,
      undefined,
      disposition('attachment', { mediaType: 'document', ...described }),
    )
  }
}

const answerFile = (c: Context, content: Buffer, type = 'application/octet-stream', how: string) =>
  c.body(new Uint8Array(content), 200, {
    'Content-Type': type,
    'Content-Disposition': how,
    'Content-Security-Policy': "default-src 'none'; sandbox",
  })

/** The filename is encoded by RFC 8187, so that it can't end the value or the header. */
function disposition(how: 'inline' | 'attachment', { filename, mediaType }: MediaDescription): string {
  const name = encodeURIComponent((filename ?? mediaType).toWellFormed()).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return `${how}; filename*=UTF-8''${name}`
}
