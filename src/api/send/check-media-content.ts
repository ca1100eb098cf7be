import { contentIssue, recognise, typeToSend } from '../../core/messages/media-content.ts'
import { mimetypeIssue } from '../../core/messages/mimetype-issue.ts'
import { contentsIn } from '../../core/messages/stored-content.ts'
import type { SendRequest } from '../../core/sends/send-request.ts'
import { ApiError } from '../errors.ts'

export const contentRefused = (issue: string) =>
  new ApiError('invalid_media', `message.media.base64: ${issue}`)

type Checked = SendRequest & { contentType?: string | undefined }

/**
 * Checks the bytes of base64 media against their declared `mediaType` and `mimetype` (docs/reference/api.md#media), and those of
 * attachments against their `mimetype`.
 *
 * @returns the request with the recognised types, which are also the `mimetype` if that says nothing.
 */
export async function checkMediaContent(request: SendRequest): Promise<Checked> {
  const { message, mediaContent: stored } = request
  if (!stored) return request
  const { mediaContent, attachmentContents } = contentsIn(message, stored)
  const checked = mediaContent ? await checkMedia(request, mediaContent) : request
  return message.email?.attachments ? await checkAttachments(checked, attachmentContents) : checked
}

async function checkMedia(request: SendRequest, content: Buffer): Promise<Checked> {
  const { message } = request
  if (message.type !== 'media') return request
  const { media } = message
  const contentType = await recognise(content)
  const issue = contentIssue(media.mediaType, contentType)
  if (issue) throw contentRefused(issue)
  if (media.mimetype) refuseContradiction('message.media.mimetype', media.mimetype, contentType)
  const mimetype = typeToSend(media.mediaType, [media.mimetype], contentType) ?? media.mimetype
  return { ...request, contentType, message: { ...message, media: { ...media, mimetype } } }
}

async function checkAttachments(
  request: Checked,
  contents: readonly (Buffer | undefined)[],
): Promise<Checked> {
  const { message } = request
  const attachments = []
  for (const [index, attachment] of (message.email?.attachments ?? []).entries()) {
    const content = contents[index]
    const contentType = content && (await recognise(content))
    if (attachment.mimetype)
      refuseContradiction(`email.attachments[${index}].mimetype`, attachment.mimetype, contentType)
    const mimetype = typeToSend('document', [attachment.mimetype], contentType) ?? attachment.mimetype
    attachments.push({ ...attachment, mimetype })
  }
  return { ...request, message: { ...message, email: { ...message.email, attachments } } }
}

function refuseContradiction(path: string, mimetype: string, contentType: string | undefined): void {
  const contradiction = contentType && mimetypeIssue(mimetype, contentType)
  if (!contradiction) return
  const reason = `${path}: the content is recognised as ${contentType}`
  throw new ApiError('invalid_media', `${path}: ${contradiction}`, {}, reason)
}
