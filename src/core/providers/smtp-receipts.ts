import PostalMime, { type Attachment, type Email } from 'postal-mime'
import type { Receipt, ReceiptKind, ReceiptRequest, ReceiptRules } from '../receipt.ts'
import { contentTypeOf, headerOf } from '../receipt-request.ts'
import { isSameSecret } from '../same-secret.ts'
import { meaningOfReply } from './smtp-replies.ts'

interface SmtpReceiptConfig {
  bounceToken?: string | undefined
}

/** https://www.rfc-editor.org/rfc/rfc3464#section-2.3.3 */
const kinds: Record<string, ReceiptKind> = {
  delivered: 'delivered',
  expanded: 'delivered',
  failed: 'undelivered',
  delayed: 'accepted',
  relayed: 'accepted',
}

const anyId = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/i
/** Our mails have one; behind its address may be a list. Anyone may write a report of thousands. */
const maxRecipients = 100
/** Headers that name the address to which a report was sent: the return path of the mail that it is about. */
const addressHeaders = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to']

/**
 * Reports of mail servers on a mail's delivery (RFC 3464), as the operator's mail server passes them on
 * (docs/reference/providers/smtp.md).
 */
export const smtpReceipts: ReceiptRules<SmtpReceiptConfig> = {
  areForEach: false,
  needPublicUrl: false,
  areOn: ({ bounceToken }) => bounceToken !== undefined,
  isProven(request, { bounceToken = '' }) {
    const [, given = ''] = /^Bearer +([^ ]+)$/i.exec(headerOf(request, 'authorization')) ?? []
    return isSameSecret(given, bounceToken)
  },
  async read(request: ReceiptRequest) {
    if (contentTypeOf(request) !== 'message/rfc822')
      return { issue: 'Content-Type: has to be message/rfc822' }
    const mail = await PostalMime.parse(request.body, {
      forceRfc822Attachments: true,
      attachmentEncoding: 'utf8',
    }).catch(() => undefined)
    if (!mail || mail.headers.length === 0) return { issue: 'body: has to be a mail' }
    return readReport(mail)
  },
}

function readReport(mail: Email) {
  const report = partOf(mail, 'message/delivery-status')
  if (report === undefined) return { receipts: [], unexpected: 1, unreadable: 0 }
  const [aboutMail = new Map(), ...aboutRecipients] = report
    .split(/\r?\n(?:[ \t]*\r?\n)+/, maxRecipients + 1)
    .map(fieldsIn)
    .filter(({ size }) => size > 0)
  const requestId = requestIdOf(aboutMail, mail)
  const receipts = aboutRecipients.flatMap((fields) => receiptOf(requestId, fields, mail))
  return {
    receipts,
    unexpected: 0,
    unreadable: aboutRecipients.length - receipts.length || (receipts.length === 0 ? 1 : 0),
  }
}

function receiptOf(requestId: string, fields: Map<string, string>, mail: Email): Receipt[] {
  const [, action = ''] = /^\s*([a-z]+)/.exec((fields.get('action') ?? '').toLowerCase()) ?? []
  const kind = Object.hasOwn(kinds, action) ? kinds[action] : undefined
  if (!kind) return []
  const [code = null] = /[245]\.\d{1,3}\.\d{1,3}/.exec(fields.get('status') ?? '') ?? []
  return [
    {
      requestId,
      kind,
      providerStatus: action,
      providerAt: momentOf(fields.get('last-attempt-date') ?? mail.date),
      providerCode: code,
      providerMessageId: null,
      // The server's own text mostly repeats the address.
      ...(kind === 'undelivered' && { reason: reasonOf(code) }),
    },
  ]
}

const reasonOf = (code: string | null) =>
  meaningOfReply({ providerCode: code ?? undefined }) ?? 'a mail server could not deliver it'

/** By the id that was given with the mail, else the return path, else the Message-ID of the returned mail. */
function requestIdOf(aboutMail: Map<string, string>, mail: Email): string {
  const returned = partOf(mail, 'message/rfc822') ?? partOf(mail, 'text/rfc822-headers') ?? ''
  const headersOfMail = mail.headers
    .filter(({ key }) => addressHeaders.includes(key))
    .map(({ value }) => value)
  const places = [
    aboutMail.get('original-envelope-id'),
    ...headersOfMail,
    headersIn(returned).get('message-id'),
  ]
  const found = places.map((place) => anyId.exec(place ?? '')?.[0]).find(Boolean)
  return found?.toLowerCase() ?? ''
}

/** The text of the first part of this type. */
function partOf({ attachments }: Email, type: string): string | undefined {
  const part: Attachment | undefined = attachments.find(({ mimeType }) => mimeType.toLowerCase() === type)
  return part && String(part.content)
}

const headersIn = (text: string) => fieldsIn(text.split(/\r?\n\r?\n/)[0] ?? '')

/** Fields of the form `Name: value`, by their names in lower case; a value may go on in further lines. */
function fieldsIn(text: string): Map<string, string> {
  const lines = text.replaceAll(/\r?\n[ \t]+/g, ' ').split(/\r?\n/)
  const fields = lines.map((line) => ({ line, name: /^[\w-]+(?=:)/.exec(line)?.[0] ?? '' }))
  return new Map(
    fields
      .filter(({ name }) => name !== '')
      // Not by a pattern: what follows the name may be megabytes long, and anyone may write it.
      .map(({ line, name }) => [name.toLowerCase(), line.slice(name.length + 1).trim()]),
  )
}

function momentOf(text = ''): string | null {
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}
