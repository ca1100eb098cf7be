import { Readable } from 'node:stream'
import MailComposer from 'nodemailer/lib/mail-composer'
import { detectExtension } from 'nodemailer/lib/mime-funcs/mime-types'
import { contentFault, recognise, typeOfContent } from '../../src/core/media-content.ts'
import type { MediaDescription } from '../../src/core/message.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import { parseMailbox, type SmtpConfig } from '../../src/core/providers/smtp.ts'
import { renderMail } from '../../src/core/providers/smtp-template.ts'
import type { Delivery } from '../provider.ts'
import type { MediaFetcher } from './fetch-media.ts'

export interface Mail {
  from: string
  to: string
  messageId: string
  /** It is at least as long as this. */
  minBytes: number
  /** The whole mail, in pieces; it is put together as it is read, once. */
  read(): Readable
}

interface Texts {
  subject?: string | undefined
  text?: string | undefined
  html?: string | undefined
}

/** Makes a mail of a delivery. Media that is a link is fetched: where that fails, there is no mail but an outcome. */
export async function composeMail(
  delivery: Delivery<SmtpConfig>,
  media: MediaFetcher,
  signal: AbortSignal,
): Promise<Mail | Outcome> {
  const { requestId, contact, config } = delivery
  const from = parseMailbox(config.from)
  if (!from) return { outcome: 'channel_refused', reason: "the channel's from holds no address" }
  const { message } = delivery
  if (message.type === 'template' && !message.template.definition) {
    return { outcome: 'rejected', reason: 'the template is not registered with the channel' }
  }
  const attached = await attachmentOf(delivery, media, signal)
  if (attached && 'outcome' in attached) return attached
  const { subject, ...texts } = textsOf(delivery)
  const messageId = `<${requestId}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`
  const composer = new MailComposer({
    from,
    to: { name: contact.name ?? '', address: contact.value },
    messageId,
    // Its variables may leave a template's empty.
    subject: subject?.trim() || config.subject,
    ...texts,
    attachments: attached ? [attached.attachment] : [],
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    from: from.address,
    to: contact.value,
    messageId,
    minBytes: attached ? Math.ceil(attached.sizeBytes / 3) * 4 : 0,
    read: () => composer.compile().createReadStream() as Readable,
  }
}

function textsOf({ message }: Delivery<SmtpConfig>): Texts {
  switch (message.type) {
    case 'text':
      return { text: message.text.value }
    case 'media':
      return { text: message.media.caption }
    case 'template': {
      const { definition = {}, variables } = message.template
      return renderMail(definition, variables)
    }
    default:
      return message satisfies never
  }
}

async function attachmentOf(
  { message, mediaContent }: Delivery<SmtpConfig>,
  media: MediaFetcher,
  signal: AbortSignal,
) {
  if (message.type !== 'media') return undefined
  const { mediaType, mediaUrl = '' } = message.media
  if (mediaContent) return attach(message.media, mediaContent)
  const fetched = await media.fetch(mediaUrl, signal)
  if (fetched.kind === 'failed') return { outcome: 'retry_later', reason: fetched.reason } as const
  if (fetched.kind === 'refused') return { outcome: 'rejected', reason: fetched.reason } as const
  const { content, mimetype } = fetched
  const recognised = await recognise(content)
  const fault = contentFault(mediaType, recognised)
  if (fault) return { outcome: 'rejected', reason: `the content of the mediaUrl ${fault}` } as const
  return attach(message.media, content, mimetype ?? typeOfContent(mediaType, recognised))
}

function attach({ mediaType, mimetype, filename }: MediaDescription, content: Buffer, found?: string) {
  const contentType = asAttachment(mimetype ?? found ?? anyType)
  return {
    sizeBytes: content.length,
    attachment: {
      content: Readable.from(piecesOf(content), { objectMode: false }),
      contentType,
      contentDisposition: 'attachment',
      contentTransferEncoding: 'base64',
      filename: filename ?? `${mediaType}.${extensionOf(contentType)}`,
    },
  }
}

const anyType = 'application/octet-stream'

function extensionOf(contentType: string): string {
  const [bare = ''] = contentType.toLowerCase().split(';')
  return bare.trim() === anyType ? 'bin' : detectExtension(bare.trim())
}

/** What is a mail or made of parts would be taken for a part of this one, and its bytes be altered on the way. */
function asAttachment(contentType: string): string {
  return /^\s*(multipart|message)\//i.test(contentType) ? anyType : contentType
}

/** A multiple of 57, so that each piece fills whole lines of base64. */
const pieceBytes = 57 * 1024

/** Encoded piece by piece, so that a mail of 16 MiB never stands in memory once more as base64. */
function* piecesOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
}
