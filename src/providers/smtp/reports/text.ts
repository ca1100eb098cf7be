import type { Email } from 'postal-mime'
import type { RecipientReport } from './model.ts'

/** More of a text isn't read: a report says at its beginning what it is about. */
const longestText = 20_000

/** Words of a server about a recipient are hardly longer. */
const longestWords = 500

/** Signs that a mail server goes on trying. In doubt a report means nothing. */
const isDelay =
  /\bdelay(?:ed)?\b|\bwarning\b|\bwill (?:keep|continue|be (?:re)?tried|re-?try|try|attempt)\b|\bstill (?:trying|being|in (?:the )?queue|unable)\b|\bnot yet (?:been )?delivered\b|\bneed not (?:re-?send|do)|\bnot need to re-?send|\bno action is required|\bmore attempts?\b|\bfurther attempts? will\b/i
/** Where the copy of the mail begins, or something that the report quotes. Not the commands of a session, as in `>>> DATA`. */
const copyBegins =
  /^(?:--- (?:Below this line|Enclosed|Undelivered)|-{2,} ?(?:This is a copy|Original message|Forwarded message|Begin forwarded)|Begin forwarded message|>(?!>> [A-Z]{4}\b))/im
/** https://cr.yp.to/proto/qsbmf.txt, and Yahoo's words in its place. */
const isByQmail =
  /^\s*(?:Hi\. (?:This is|The) |Sorry, we were unable to deliver your message to the following address)/
/** One recipient of it: `<ann@example.com>:`, and what happened in the lines after. */
const recipientOfQmail = /^<[^<>\n]{1,320}>:[ \t]*$/m

const replyWithCode = /(?<![\d.])(5[0-5]\d)(?:[ -]{1,2}|: )#?(5\.\d{1,3}\.\d{1,3})(?![\d]|\.\d)/
/** Without an enhanced code, a number counts where a reply is announced, or begins a line. */
const bareReply =
  /(?:^[ \t]*|\b(?:said|says|replied|reply|responded|response|returned|answered|error)\b[^\n]{0,60}?[:'"(\n][ \t'"]*)([45][0-5]\d)(?=[ -]|: )/gim
const passingReply = /(?:^|[\s:('"])4[0-5]\d[ -]#?4\.\d{1,3}\.\d{1,3}\b/m
const codeAlone = /(?<![\d.])#?([45]\.\d{1,3}\.\d{1,3})(?![\d]|\.\d)/

/**
 * Reads a report without a `message/delivery-status` by its headers and text (docs/reference/receipts.md#reports-of-mail-servers);
 * undefined if it is none, or may be about a delay.
 */
export function readReportText(mail: Email): Omit<RecipientReport, 'at'> | undefined {
  const text = textOf(mail)
  if (isDelay.test(mail.subject ?? '') || isDelay.test(text)) return undefined
  const quoted = replyIn(text)
  const [, code = null] = codeAlone.exec(text) ?? []
  const words = text.slice(quoted?.at ?? 0).slice(0, longestWords)
  const failed = { action: 'failed', code: quoted?.code ?? code, reply: quoted?.reply ?? null, words }
  if (headerOf(mail, 'x-failed-recipients').includes('@')) return failed
  if (isByQmail.test(text) && recipientOfQmail.test(text)) return failed
  return isDeliveryReport(mail) && quoted && !quotesPassing(text) ? failed : undefined
}

/** Says that somebody's mail system answered by itself, such as with a notice of absence (RFC 3834, 5). Parameters may follow. */
export const isAutomaticReply = (mail: Email): boolean =>
  /^auto-replied(?![\w-])/i.test(headerOf(mail, 'auto-submitted').trim())

/** Other reports tell that a mail was read, or that it was complained about. */
function isDeliveryReport(mail: Email): boolean {
  const type = headerOf(mail, 'content-type')
  const [, kind = 'delivery-status'] = /\breport-type[ \t]{0,9}=[ \t]{0,9}"?([\w-]{1,64})/i.exec(type) ?? []
  return /^multipart\/report\b/i.test(type) && kind.toLowerCase() === 'delivery-status'
}

function replyIn(text: string): { reply: number; code: string | null; at: number } | undefined {
  const found = replyWithCode.exec(text)
  const [, reply, code] = found ?? []
  if (found && reply && code) return { reply: Number(reply), code, at: found.index }
  const bare = [...text.matchAll(bareReply)].find(([, number = '']) => number.startsWith('5'))
  return bare ? { reply: Number(bare[1]), code: null, at: bare.index } : undefined
}

const bareRepliesIn = (text: string) => [...text.matchAll(bareReply)].map(([, number = '']) => number)

const quotesPassing = (text: string) =>
  passingReply.test(text) || bareRepliesIn(text).some((number) => number.startsWith('4'))

function textOf({ text, html }: Email): string {
  const given = text?.trim() ? text : (html ?? '').slice(0, 5 * longestText).replaceAll(/<[^<>]*>/g, '\n')
  return (given.slice(0, longestText).replaceAll('\r', '').split(copyBegins, 1)[0] ?? '').trimStart()
}

const headerOf = ({ headers }: Email, name: string): string =>
  headers.find(({ key }) => key === name)?.value ?? ''
