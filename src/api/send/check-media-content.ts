import { contentIssue, recognise, typeToSend } from '../../core/messages/media-content.ts'
import { mimetypeIssue } from '../../core/messages/mimetype-issue.ts'
import type { SendRequest } from '../../core/sends/send-request.ts'
import { ApiError } from '../errors.ts'

export const contentRefused = (issue: string) =>
  new ApiError('invalid_media', `message.media.base64: ${issue}`)

/**
 * Checks the bytes of base64 media against their declared `mediaType` and `mimetype` (docs/reference/api.md#media).
 *
 * @returns the request with the recognised type, which is also its `mimetype` if that says nothing.
 */
export async function checkMediaContent(
  request: SendRequest,
): Promise<SendRequest & { contentType?: string | undefined }> {
  const { message, mediaContent } = request
  if (message.type !== 'media' || !mediaContent) return request
  const { media } = message
  const contentType = await recognise(mediaContent)
  const issue = contentIssue(media.mediaType, contentType)
  if (issue) throw contentRefused(issue)
  const contradiction = media.mimetype && mimetypeIssue(media.mimetype, contentType)
  if (contradiction)
    throw new ApiError(
      'invalid_media',
      `message.media.mimetype: ${contradiction}`,
      {},
      `message.media.mimetype: the content is recognised as ${contentType}`,
    )
  const mimetype = typeToSend(media.mediaType, [media.mimetype], contentType) ?? media.mimetype
  return { ...request, contentType, message: { ...message, media: { ...media, mimetype } } }
}
