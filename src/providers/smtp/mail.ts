import { Readable } from 'node:stream'
import MailComposer from 'nodemailer/lib/mail-composer'
import { encodeWord } from 'nodemailer/lib/mime-funcs'
import { parseMailbox } from '../../core/contacts/mailbox.ts'
import type { MediaDescription } from '../../core/messages/message.ts'
import type { Outcome } from '../../core/sends/outcome.ts'
import type { Delivery } from '../delivery.ts'
import { attachedAs } from '../shared/mail/attachment-name.ts'
import { mailOfSend } from '../shared/mail/mail-of-send.ts'
import { returnPathOf, type SmtpConfig } from './config.ts'

export interface Mail {
  /** The envelope's sender, to which servers return their reports. */
  from: string
  to: string
  /** Repeated by servers in their reports; undefined if none are wanted. */
  envelopeId: string | undefined
  messageId: string
  /** Lower bound of its size. */
  minBytes: number
  /** The whole mail, composed while it is read; may be read once. */
  read(): Readable
}

const refused = { outcome: 'rejected', fault: 'message' } as const

/** Composes the mail of a delivery; an outcome says why it is impossible. */
export function composeMail(delivery: Delivery<SmtpConfig>): Mail | Outcome {
  const { requestId, contact, config, message } = delivery
  if (message.type === 'template' && !message.template.definition)
    return { ...refused, reason: 'the template is not registered with the channel' }
  const { from, messageId, subject, replyTo, headers, text, html } = mailOfSend(delivery)
  if (!from || !messageId)
    return { outcome: 'channel_refused', fault: 'sender', reason: "the channel's from contains no address" }
  const attached = attachmentsOf(delivery)
  const composer = new MailComposer({
    from,
    to: { name: contact.name ?? '', address: contact.value },
    messageId,
    headers: { ...asFields(headers), Subject: subjectField(subject) },
    replyTo: replyTo && parseMailbox(replyTo),
    text,
    html: html === undefined ? undefined : asItIs(html),
    attachments: attached.map(({ attachment }) => attachment),
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    from: returnPathOf(config, requestId) ?? from.address,
    to: contact.value,
    envelopeId: config.bounceToken === undefined ? undefined : requestId,
    messageId,
    minBytes: attached.reduce((sum, { sizeBytes }) => sum + Math.ceil(sizeBytes / 3) * 4, 0),
    read: () => composer.compile().createReadStream() as Readable,
  }
}

/** nodemailer would drop a carriage return that stands alone. */
const asItIs = (html: string) =>
  /\r(?!\n)/.test(html) ? { content: html, contentTransferEncoding: 'base64' as const } : html

/** RFC 5322, 2.1.1: a word of a line of its own, after a space. A longer one is encoded, which may be cut. */
const longestWord = 997

/** Lists of ids, which nodemailer writes itself. */
const ofIds = /^(references|in-reply-to)$/i

/** As they are: nodemailer would rewrite some. */
const asFields = (headers: Readonly<Record<string, string>>) =>
  Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [
      name,
      ofIds.test(name) ? value : { prepared: true, foldLines: true, value },
    ]),
  )

const subjectField = (subject: string) =>
  subject.trim() === '' || subject.split(' ').some((word) => word.length > longestWord)
    ? { prepared: true, foldLines: true, value: encodeWord(subject, 'Q', 52) }
    : subject

function attachmentsOf({ message, mediaContent, attachmentContents = [] }: Delivery<SmtpConfig>) {
  const media = message.type === 'media' ? [attach(message.media, mediaContent)] : []
  const others = (message.email?.attachments ?? []).map((attachment, index) =>
    attach({ mediaType: 'document', ...attachment }, attachmentContents[index], attachment.contentId),
  )
  return [...media, ...others]
}

function attach(media: MediaDescription, content: Buffer | undefined, cid?: string) {
  // Never sends the mail without its attachment.
  if (!content) throw new Error('A file of the send was not fetched')
  return {
    sizeBytes: content.length,
    attachment: {
      content: Readable.from(piecesOf(content), { objectMode: false }),
      ...attachedAs(media),
      contentDisposition: cid === undefined ? ('attachment' as const) : ('inline' as const),
      contentTransferEncoding: 'base64' as const,
      ...(cid !== undefined && { cid }),
    },
  }
}

/** A multiple of 57, so that each piece fills whole lines of base64. */
const pieceBytes = 57 * 1024

/** Encoded piece by piece, so that the base64 of 16 MiB never fills the memory. */
function* piecesOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
}
