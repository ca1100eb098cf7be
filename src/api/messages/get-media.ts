import { findMedia, readPiece } from '../../../db/delivery/media.ts'
import { withCommonName } from '../../core/messages/media-content.ts'
import { readMediaToken } from '../../core/messages/media-link.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { Deadline } from '../../platform/deadline.ts'
import { Semaphore } from '../../platform/memory/semaphore.ts'
import { credentialsKeys } from '../../platform/settings/settings.ts'
import type { Needs } from '../../runtime.ts'
import { answerWithinMs, factory } from '../context.ts'
import { mediaNotFound } from '../routes/messages.ts'

/** Answers a provider's request for a send's media, by a link that the provider was given (docs/reference/api.md#media-links). */
export function getMedia({
  db,
  clock,
  settings,
}: Needs<'db' | 'clock', 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>) {
  const keys = credentialsKeys(settings)
  // So that links, which need no key, use no more than one connection of the pool.
  const oneAtATime = new Semaphore({ units: 1, unitsOfOwner: 1 })
  const inTurn = async <Read>(leftMs: number, read: () => Promise<Read>) => {
    const release = await oneAtATime.acquire({ units: 1, owner: '' }, leftMs)
    return await read().finally(() => release())
  }
  /** Read no faster than the client reads. An error ends the connection. */
  const contentOf = (requestId: string, firstPiece: Buffer, sizeBytes: number) => {
    let start = 0
    return new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const deadline = new Deadline(answerWithinMs)
          const read = () => inTurn(deadline.leftMs, () => readPiece(db, requestId, start))
          const piece = start === 0 ? firstPiece : await deadline.spend(read())
          if (!piece?.length) throw new Error('the media was removed while it was fetched')
          controller.enqueue(piece)
          start += piece.length
          if (start === sizeBytes) controller.close()
        },
      },
      { highWaterMark: 0 },
    )
  }
  return factory.createHandlers(async (c) => {
    const token = c.req.param('token') ?? ''
    const requestId = readMediaToken(token, keys, new Date(clock.nowMs()))
    const { deadline } = c.var
    const isHead = c.req.method === 'HEAD'
    const find = (id: string) => inTurn(deadline.leftMs, () => findMedia(db, id, !isHead))
    const media =
      requestId !== undefined && canBeRecordId(requestId) ? await deadline.spend(find(requestId)) : undefined
    if (!media || requestId === undefined) throw mediaNotFound()
    const { firstPiece, sizeBytes, description } = media
    const isWhole = isHead || firstPiece.length === sizeBytes
    const body = isWhole ? firstPiece : contentOf(requestId, firstPiece, sizeBytes)
    const { mimetype = 'application/octet-stream', filename } = description
    return c.body(body as Buffer<ArrayBuffer> | ReadableStream<Uint8Array>, 200, {
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
