import { findMedia } from '../../../db/delivery/media.ts'
import { withCommonName } from '../../core/media-content.ts'
import { readMediaToken } from '../../core/media-link.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { Semaphore } from '../../platform/semaphore.ts'
import { credentialsKeys } from '../../platform/settings.ts'
import type { Needs } from '../../runtime.ts'
import { factory } from '../context.ts'
import { ApiError } from '../errors.ts'

export const mediaNotFound = () => new ApiError(404, 'No such media, or its link has expired.')

/** Answers a provider's request for a send's media, by a link that the provider was given (docs/reference/api.md#media-links). */
export function getMedia({
  db,
  clock,
  settings,
}: Needs<'db' | 'clock', 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>) {
  const keys = credentialsKeys(settings)
  // To read content of 16 MiB takes the process tens of milliseconds, and several times its memory.
  const oneAtATime = new Semaphore({ units: 1, unitsOfOwner: 1 })
  const readContent = async (requestId: string, leftMs: number) => {
    const release = await oneAtATime.acquire({ units: 1, owner: '' }, leftMs)
    return await findMedia(db, requestId, true).finally(() => release())
  }
  return factory.createHandlers(async (c) => {
    const token = c.req.param('token') ?? ''
    const requestId = readMediaToken(token, keys, new Date(clock.nowMs()))
    const { deadline } = c.var
    const find = (id: string) =>
      c.req.method === 'HEAD' ? findMedia(db, id, false) : readContent(id, deadline.leftMs)
    const media =
      requestId !== undefined && canBeRecordId(requestId) ? await deadline.spend(find(requestId)) : undefined
    if (!media) throw mediaNotFound()
    const { content, sizeBytes, description } = media
    const { mimetype = 'application/octet-stream', filename } = description
    return c.body(content as Buffer<ArrayBuffer>, 200, {
      ...c.get('headers'),
      'Content-Length': String(sizeBytes),
      // Providers refuse unregistered names of types, such as image/jpg.
      'Content-Type': withCommonName(mimetype),
      'Content-Disposition': `attachment; filename*=UTF-8''${encodeFilename(filename ?? 'media')}`,
      'Cache-Control': 'private, no-store',
      'X-Content-Type-Options': 'nosniff',
      // An HTML page sent as media must not run in this origin.
      'Content-Security-Policy': "default-src 'none'; sandbox",
    })
  })
}

/** RFC 8187, which allows fewer characters than encodeURIComponent leaves. */
function encodeFilename(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
