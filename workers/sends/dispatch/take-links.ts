import type { Attachment } from '../../../src/core/messages/mail.ts'
import { contentIssue, recognise, typeToSend } from '../../../src/core/messages/media-content.ts'
import type { MediaDescription } from '../../../src/core/messages/message.ts'
import { maxMediaBytes } from '../../../src/core/messages/message-body.ts'
import { mimetypeIssue } from '../../../src/core/messages/mimetype-issue.ts'
import type { Outcome } from '../../../src/core/sends/outcome.ts'
import type { Delivery } from '../../../src/providers/delivery.ts'
import type { FetchedMedia } from '../../http/media-answer.ts'

type Linked = Pick<Delivery<unknown>, 'message' | 'mediaContent' | 'attachmentContents'>
type Taken = Linked & { fetchedBytes: number }
type Fetched = Extract<FetchedMedia, { kind: 'media' }>
type PutOff = Extract<FetchedMedia, { kind: 'put_off' }>
type FetchOne = (url: string) => Promise<FetchedMedia>

/** If both were given, base64 is sent. */
const isLink = ({ url, sizeBytes }: Attachment) => url !== undefined && sizeBytes === undefined

/** Whether some of the content still has to be fetched. */
export const hasLinks = ({ message, mediaContent }: Linked): boolean =>
  (message.type === 'media' && mediaContent === undefined) ||
  (message.email?.attachments?.some(isLink) ?? false)

/**
 * Fetches all links of a delivery, one after the other, and checks what came against the declared types, as the API does with base64
 * content.
 *
 * @returns the result of the attempt, if one can't be used: its reason says which.
 */
export async function takeAll(delivery: Linked, fetchOne: FetchOne): Promise<Taken | Outcome | PutOff> {
  let { message, mediaContent } = delivery
  let fetchedBytes = 0
  if (message.type === 'media' && mediaContent === undefined) {
    const fetched = await fetchOne(message.media.mediaUrl ?? '')
    if (fetched.kind !== 'media') return unusable(fetched)
    const media = await mediaOf(message.media, fetched)
    if ('outcome' in media) return media
    message = { ...message, media }
    mediaContent = fetched.content
    fetchedBytes += fetched.content.length
  }
  if (!message.email?.attachments) return { message, mediaContent, fetchedBytes }
  const attachments: Attachment[] = []
  const attachmentContents = [...(delivery.attachmentContents ?? [])]
  const stored = [mediaContent, ...attachmentContents].reduce(
    (sum, content) => sum + (content?.length ?? 0),
    0,
  )
  let leftBytes = maxMediaBytes - stored
  for (const [index, attachment] of message.email.attachments.entries()) {
    if (attachment.url === undefined || !isLink(attachment)) {
      attachments.push(attachment)
      continue
    }
    const path = `email.attachments[${index}]: `
    const fetched = await fetchOne(attachment.url)
    if (fetched.kind !== 'media') return unusable(fetched, path)
    const { content } = fetched
    leftBytes -= content.length
    if (leftBytes < 0)
      return refused(`${path}with it, the attachments are more than ${maxMediaBytes} bytes together`)
    const mimetype = await typeOf('document', attachment.mimetype, fetched)
    if (typeof mimetype === 'object') return { ...mimetype, reason: path + mimetype.reason }
    attachments.push({ ...attachment, mimetype })
    attachmentContents[index] = content
    fetchedBytes += content.length
  }
  return {
    message: { ...message, email: { ...message.email, attachments } },
    mediaContent,
    attachmentContents,
    fetchedBytes,
  }
}

function unusable(fetched: Exclude<FetchedMedia, Fetched>, path = ''): Outcome | PutOff {
  if (fetched.kind === 'put_off') return fetched
  const reason = path + fetched.reason
  return fetched.kind === 'failed' ? { outcome: 'retry_later', fault: 'message', reason } : refused(reason)
}

async function mediaOf(described: MediaDescription, fetched: Fetched): Promise<MediaDescription | Refused> {
  const issue = contentIssue(described.mediaType, await recognise(fetched.content))
  if (issue) return refused(`the content of the mediaUrl ${issue}`)
  const mimetype = await typeOf(described.mediaType, described.mimetype, fetched)
  return typeof mimetype === 'object' ? mimetype : { ...described, mimetype }
}

/** The type to send it as: the declared one, else that of the answer unless the content contradicts it, else the recognised one. */
async function typeOf(
  mediaType: MediaDescription['mediaType'],
  declared: string | undefined,
  { content, mimetype: served }: Fetched,
): Promise<string | undefined | Refused> {
  const recognised = await recognise(content)
  const contradiction = declared && mimetypeIssue(declared, recognised)
  if (contradiction) return refused(`the mimetype ${contradiction}`)
  const trusted = served && !mimetypeIssue(served, recognised) ? served : undefined
  return typeToSend(mediaType, [declared, trusted], recognised)
}

interface Refused {
  outcome: 'rejected'
  fault: 'message'
  reason: string
}

const refused = (reason: string): Refused => ({ outcome: 'rejected', fault: 'message', reason })
