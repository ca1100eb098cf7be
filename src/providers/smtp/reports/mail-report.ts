import type { Email } from 'postal-mime'
import { isVagueCode } from '../replies/recipient-words.ts'
import type { MailReport, RecipientReport } from './model.ts'
import { type Fields, headersIn, statusFieldsIn } from './status-fields.ts'
import { isAutomaticReply, readReportText } from './text.ts'

/** Our mails have one; behind its address may be a list. Anyone may write a report of thousands. */
const maxRecipients = 100
const maxIds = 10

/** Headers that name the address to which a report was sent: the return path of the mail that it is about. */
const addressHeaders = ['delivered-to', 'x-original-to', 'envelope-to', 'x-envelope-to', 'to']

/** @returns undefined if the mail is no report, or it is in doubt what it reports. */
export function readMailReport(mail: Email): MailReport | undefined {
  const [feedback] = partsOf(mail, ['message/feedback-report'])
  if (feedback !== undefined) return complaintIn(headersIn(feedback), mail)
  const [status] = partsOf(mail, ['message/delivery-status', 'message/global-delivery-status'])
  const returnPaths = returnPathsOf(mail)
  if (status === undefined) return reportByText(mail, idsIn(returnPaths))
  const { aboutMail, aboutRecipients } = statusFieldsIn(status)
  const read = aboutRecipients.slice(0, maxRecipients)
  const recipients = read.flatMap((fields) => recipientOf(fields, aboutMail, mail))
  const envelopeIds = [aboutMail, ...read].map((fields) => fields.get('original-envelope-id') ?? '')
  return {
    requestIds: idsIn([...envelopeIds, ...returnPaths, ...returnedIds(mail)]),
    recipients,
    unreadable: read.length - recipients.length || (recipients.length === 0 ? 1 : 0),
  }
}

/** The types of a report that say that the contact complained. `not-spam` and `auth-failure`, for example, don't. */
const complaints = ['abuse', 'fraud']

/** A complaint: https://www.rfc-editor.org/rfc/rfc5965#section-3 */
function complaintIn(fields: Fields, mail: Email): MailReport | undefined {
  const action = fields.get('feedback-type')?.trim().toLowerCase() ?? ''
  if (!complaints.includes(action)) return undefined
  const places = ['original-envelope-id', 'original-mail-from'].map((name) => fields.get(name) ?? '')
  const at = momentOf(fields.get('arrival-date') ?? fields.get('received-date') ?? mail.date)
  return {
    requestIds: idsIn([...places, ...returnPathsOf(mail), ...returnedIds(mail)]),
    recipients: [{ action, code: null, reply: null, words: '', at }],
    unreadable: 0,
  }
}

const returnPathsOf = ({ headers }: Email): string[] =>
  headers.filter(({ key }) => addressHeaders.includes(key)).map(({ value }) => value)

/** A text proves less than fields, so only the return path says what it is about. */
function reportByText(mail: Email, requestIds: string[]): MailReport | undefined {
  if (requestIds.length === 0) return undefined
  const read = readReportText(mail) ?? (isAutomaticReply(mail) ? automaticReply : undefined)
  return read && { requestIds, recipients: [{ ...read, at: momentOf(mail.date) }], unreadable: 0 }
}

const automaticReply = { action: 'auto-replied', code: null, reply: null, words: '' }

/** The actions that are known (smtp-receipts.ts has their meanings). */
const action = /^\s*(delivered|expanded|failed|expired|delayed|relayed)\b/i

function recipientOf(fields: Fields, aboutMail: Fields, mail: Email): RecipientReport[] {
  const [, word] = action.exec(fields.get('action') ?? '') ?? []
  if (!word) return []
  const [status = null] = codesIn(fields.get('status') ?? aboutMail.get('status') ?? '')
  const diagnostic = fields.get('diagnostic-code') ?? ''
  const [, reply] = /(?:^|[;\s:])([245]\d\d)(?=[ -]|$)/.exec(diagnostic) ?? []
  const codes = isVagueCode(status) ? codesIn(diagnostic) : []
  return [
    {
      action: word.toLowerCase(),
      code: codes.find((code) => !isVagueCode(code)) ?? status ?? codes[0] ?? null,
      reply: reply === undefined ? null : Number(reply),
      words: diagnostic,
      at: momentOf(fields.get('last-attempt-date') ?? mail.date),
    },
  ]
}

/** Enhanced status codes, which are no part of an IP address. */
const codesIn = (text: string): string[] => text.match(/(?<![\d.])[245]\.\d{1,3}\.\d{1,3}(?!\d|\.\d)/g) ?? []

/**
 * A UUID of version 7, as ours are. UUIDs of others stand in addresses and envelope ids, too. Any letter may stand beside it, as in
 * the return path `bounce{requestId}@example.org`.
 */
const ownId = /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}/gi

function idsIn(places: readonly string[]): string[] {
  const ids = places.flatMap((place) => place.match(ownId) ?? []).map((id) => id.toLowerCase())
  return [...new Set(ids)].slice(0, maxIds)
}

/** Headers of our mail that name its send, as far as the operator has it so. A relay may have replaced the Message-ID. */
const headersWithId = ['message-id', 'return-path', 'original-mail-from', 'list-unsubscribe']

function returnedIds(mail: Email): string[] {
  const types = ['message/rfc822', 'text/rfc822-headers', 'message/global', 'message/global-headers']
  const returned = partsOf(mail, types).map(headersIn)
  return headersWithId.flatMap((name) => returned.map((headers) => headers.get(name) ?? ''))
}

/** The texts of the parts of these types. */
const partsOf = ({ attachments }: Email, types: string[]): string[] =>
  attachments
    .filter(({ mimeType }) => types.includes(mimeType.toLowerCase()))
    .map(({ content }) => String(content))

function momentOf(text = ''): string | null {
  const time = Date.parse(text)
  return Number.isNaN(time) ? null : new Date(time).toISOString()
}
