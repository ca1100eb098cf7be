import { Readable } from 'node:stream'
import MailComposer from 'nodemailer/lib/mail-composer'
import { domainOf, parseMailbox } from '../../core/contacts/mailbox.ts'
import { byType, type MediaDescription } from '../../core/messages/message.ts'
import type { Outcome } from '../../core/sends/outcome.ts'
import type { Delivery } from '../delivery.ts'
import { attachedAs } from '../shared/mail/attachment-name.ts'
import { headersOfMail } from '../shared/mail/mail-fields.ts'
import { subjectOf } from '../shared/mail/mail-subject.ts'
import { renderMail } from '../shared/mail/mail-template.ts'
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

interface Texts {
  subject?: string | undefined
  text?: string | undefined
  html?: string | undefined
}

const refused = { outcome: 'rejected', fault: 'message' } as const

/** Composes the mail of a delivery; an outcome says why it is impossible. */
export function composeMail(delivery: Delivery<SmtpConfig>): Mail | Outcome {
  const { requestId, contact, config } = delivery
  const from = parseMailbox(config.from)
  if (!from)
    return { outcome: 'channel_refused', fault: 'sender', reason: "the channel's from contains no address" }
  const { message } = delivery
  if (message.type === 'template' && !message.template.definition) {
    return { ...refused, reason: 'the template is not registered with the channel' }
  }
  const attached = attachmentOf(delivery)
  const { subject, ...texts } = textsOf(delivery)
  const messageId = `<${requestId}@${domainOf(from.address)}>`
  const composer = new MailComposer({
    from,
    to: { name: contact.name ?? '', address: contact.value },
    messageId,
    // A template's subject may be empty after filling in the variables.
    subject: subject?.trim() || subjectOf(delivery),
    replyTo: config.replyTo && parseMailbox(config.replyTo),
    headers: headersOfMail(config.headers, requestId),
    ...texts,
    attachments: attached ? [attached.attachment] : [],
    disableFileAccess: true,
    disableUrlAccess: true,
  })
  return {
    from: returnPathOf(config, requestId) ?? from.address,
    to: contact.value,
    envelopeId: config.bounceToken === undefined ? undefined : requestId,
    messageId,
    minBytes: attached ? Math.ceil(attached.sizeBytes / 3) * 4 : 0,
    read: () => composer.compile().createReadStream() as Readable,
  }
}

const textsOf = ({ message }: Delivery<SmtpConfig>): Texts =>
  byType(message, {
    text: ({ value }) => ({ text: value }),
    media: ({ caption }) => ({ text: caption }),
    template: ({ definition = {}, variables }) => renderMail(definition, variables),
  })

function attachmentOf({ message, mediaContent }: Delivery<SmtpConfig>) {
  if (message.type !== 'media') return undefined
  // Never sends the mail without its attachment.
  if (!mediaContent) throw new Error('The media of the send was not fetched')
  return attach(message.media, mediaContent)
}

function attach(media: MediaDescription, content: Buffer) {
  return {
    sizeBytes: content.length,
    attachment: {
      content: Readable.from(piecesOf(content), { objectMode: false }),
      ...attachedAs(media),
      contentDisposition: 'attachment',
      contentTransferEncoding: 'base64',
    },
  }
}

/** A multiple of 57, so that each piece fills whole lines of base64. */
const pieceBytes = 57 * 1024

/** Encoded piece by piece, so that the base64 of 16 MiB never fills the memory. */
function* piecesOf(content: Buffer): Generator<Buffer> {
  for (let at = 0; at < content.length; at += pieceBytes) yield content.subarray(at, at + pieceBytes)
}
