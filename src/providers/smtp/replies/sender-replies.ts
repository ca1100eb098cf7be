import { hourMs } from '../../../core/durations.ts'
import type { Failure } from '../../../core/sends/outcome.ts'
import { tooManyMails } from './recipient-words.ts'

/** A reply about the account that sends, or its limits: the same at every step, and for every mail. */
export type SenderReply = Failure & {
  /** A short clause for support staff. */
  meaning: string
  /** Minimum wait before the next attempt. */
  waitMs?: number
}

const limited = (meaning: string, hours?: number): SenderReply => ({
  outcome: 'retry_later',
  fault: 'sender',
  meaning,
  ...(hours !== undefined && { waitMs: hours * hourMs }),
})
const refused = (meaning: string): SenderReply => ({ outcome: 'channel_refused', fault: 'sender', meaning })

/** Daily limits count the last 24 hours, so the default retries have to last longer than that. */
const dailyHours = 4

const daily = limited("the account's mails of the day are used up", dailyHours)
const tooFast = limited('the account sends too many mails at a time')
const tooManyToContact: SenderReply = {
  outcome: 'retry_later',
  fault: 'recipient',
  meaning: tooManyMails,
  waitMs: hourMs,
}

const notAsFrom = refused("the channel's user may not send as this from")

/** Enhanced codes that mean the same in every reply. */
const codes: Record<string, SenderReply> = {
  // https://support.google.com/a/answer/3726730
  '4.7.28': limited('the server receives an unusual rate of mails from this sender'),
  '5.4.5': daily,
  // https://www.iana.org/assignments/smtp-enhanced-status-codes
  '5.7.28': limited('the server receives an unusual rate of mails from this sender', 1),
  // https://learn.microsoft.com/en-us/exchange/troubleshoot/email-delivery/ndr/non-delivery-reports-in-exchange-online
  '5.1.90': daily,
  '5.2.121': tooManyToContact,
  '5.2.122': limited('the account has reached its hourly limit of mails', 1),
  '5.2.252': notAsFrom,
  '5.7.57': refused("the server requires a login: check the channel's user and pass"),
  '5.7.60': notAsFrom,
  '5.7.64': refused(
    "the server's connector does not know the client: check its certificate and the address that it connects from",
  ),
  '5.7.232': daily,
  '5.7.233': daily,
  '5.7.236': daily,
  '5.7.501': refused('the account is blocked, because it sent spam'),
  '5.7.502': refused('the account is blocked, because it sent spam'),
  '5.7.503': refused('the account is blocked, because it sent spam'),
  // https://learn.microsoft.com/en-us/exchange/troubleshoot/email-delivery/ndr/fix-error-code-5-7-700-through-5-7-750
  '5.7.705': refused('the organisation has sent too many mails, or spam, and is blocked'),
  '5.7.708': refused(
    "the server accepts no mails from the organisation's addresses, as of many trial accounts",
  ),
  '5.7.750': refused('the organisation sends from domains that are not registered with the server'),
}

/**
 * Replies of vendors without a code of their own, by their words:
 *
 * - Amazon SES (https://docs.aws.amazon.com/ses/latest/dg/troubleshoot-error-messages.html, …/troubleshoot-smtp.html):
 *   `554 Message rejected: Email address is not verified. …`, `454 Throttling failure: Daily message quota exceeded`,
 *   `554 Sending paused for this account. …`
 * - SendGrid (https://www.twilio.com/docs/sendgrid/for-developers/sending-email/smtp-errors-and-troubleshooting):
 *   `550 The from address does not match a verified Sender Identity. …`, `550 Unauthenticated senders not allowed`,
 *   `451 Authentication failed: Maximum credits exceeded`, `451 You have exceeded your messaging limits`
 * - Google's relay: `550 5.7.1 Daily SMTP relay limit exceeded for customer`, `450 4.2.1 Peak SMTP relay limit exceeded`
 * - Microsoft: `554 5.2.0 STOREDRV.Submission.Exception:SubmissionQuotaExceededException`,
 *   `550 5.7.1 Client does not have permissions to send as this sender`
 * - Mailgun: `420 Domain example.org is not allowed to send: Free accounts are for test purposes only`,
 *   `421 Domain example.org is probationary and limited to 100 messages / hour`
 * - Zoho: `550 5.4.6 Unusual sending activity detected`
 * - SparkPost: `550 5.7.1 Unconfigured Sending Domain`, `550 5.7.1 Exceed Sending Limit (hourly)`
 * - Postmark: `The From address you supplied is not a Sender Signature`
 * - Postfix: `450 4.7.1 Error: too much mail from 192.0.2.1`; its policy servers: `Policy Rejection- Quota Exceeded`,
 *   `only 10 messages per day`, `limit of 400 rcpts per 24 hours for client ann@example.com reached`
 * - Exim and cPanel: `Domain example.org has exceeded the max emails per hour (50/50 (100%)) allowed`,
 *   `Sender rate overlimit - 120 / 1h`
 */
const isRefused = [
  /\bemail address(?:es)? (?:is|are) not verified\b/i,
  /\b(?:sender|from|sending domain|identity)\b[^.;]{0,60}\bnot (?:been |yet )*(?:verified|validated|confirmed|activated)\b/i,
  /\bverified sender identity\b|\bunauthenticated senders not allowed\b|\bunconfigured sending domain\b/i,
  /\bsender signature\b|SendAsDenied|\bpermissions? to send as\b/i,
  // Not TenantInboundAttribution: that is of the contact's organisation.
  /\bclient (?:was |is )?not authenticated\b|\bTenantAttribution\b/i,
  // With "to", it is about one recipient, such as a closed list.
  /\bnot (?:authori[sz]ed|allowed|permitted) to send(?: (?:from|as)\b|(?: (?:mails?|e-?mails?|messages?)\b)(?! to\b)| ?[:.;,]|$)/i,
  // Not any account: the contact's may be suspended, too.
  /\b(?:sending|outgoing e?-?mails?|(?:your|sender|smtp) (?:\w+ )?account)\b[^.;]{0,30}\b(?:paused|suspended|deactivated|blocked)\b/i,
]
const isLimit = /limit|quota|credits|\bmax\b|maximum|exceed|\bonly \d+/i
const isOfPeriod =
  /\b(?:daily|hourly|monthly)\b|(?:(?<!\b(?:in|after|for|within) )\b(?:per|an?|each)|\/) ?(?:\d+ ?)?(?:second|minute|hour|day|month|h\b)s?|\b24 ?h/i
const isOfDay = /\b(?:daily|monthly|credits)\b|(?:\b(?:per|a|each) |\/ ?)(?:day|month)\b|\b24 ?h/i
const isOfSending =
  /\b(?:sending|sender|send|submission|outgoing|outbound|relay|messaging|e-?mail)s?(?: \w+){0,2}[ -]?(?:limit|quota|rate|overlimit)|SubmissionQuota|policy rejection.{0,3}quota|\bcredits exceeded/i
/** Words that certainly mean a limit of sending: not `Sending failed: quota exceeded`. */
const isOfSendingAlone =
  /\b(?:sending|sender|submission|outgoing|outbound)(?:'s)?(?: (?:daily|hourly|monthly|e-?mail|mail|message)s?){0,2} (?:limit|quota)|\b(?:limit|quota) (?:of|for|on) (?:sending|outgoing|outbound)\b|\b(?:mail|message)s? (?:that )?(?:you|the account) (?:can|may) send\b|SubmissionQuota/i
const isTooFast =
  /\btoo (?:many|much) (?:e-?mails?|mails?|messages|connections|recipients) (?:from|per|in)\b(?! (?:\w+ )?(?:e-?mail|mail|message|thread)\b)|\brate[ -]?limit|\bthrottling failure|\bunusual (?:rate|sending|amount|volume)/i
/** A limit of the contact's mailbox, or a delay of mails to it. */
const isOfRecipient =
  /\b(?:is|are) receiving\b|\b(?:can|may|could) receive\b|\breceive limit|\breceiving (?:rate|quota|limit)|\brecipient(?:'s|(?: mailbox)? (?:has|is)\b)|\brecipient thread|\b(?:for|to) (?:the |this )?recipient\b|\bgr[ae]y-?list|\bmailbox (?:is |for )?(?:full|over|quota|size)|over ?quota|user you are trying to contact/i
/** Microsoft has both for a mailbox that gets too much, and the second one for a sender's limit, too. */
const ofMailbox = ['5.2.121', '5.2.122']
/** The codes of a contact's address or mailbox. */
const isOfContact = /^[45]\.(?:1\.(?:[1236]|10)|2\.1)$/
/** A limit of one mail. */
const isOfMail = /\bsizes?\b|\btoo (?:large|big|long)\b|\b(?:attachments?|headers?)\b/i
const address = /[^\s<>]{1,64}@[^\s<>]{1,255}/g

/**
 * The meaning of a reply for the account that sends; undefined if it is about the mail, its recipient or the server.
 *
 * @param words the reply's text, without its codes.
 */
export function senderReplyOf(
  status: number,
  enhanced: string | undefined,
  words: string,
): SenderReply | undefined {
  // An address may contain any word.
  const found = replyFor(enhanced, words.replaceAll(address, ''))
  if (found?.outcome !== 'channel_refused' || status >= 500) return found
  return { outcome: 'retry_later', fault: 'sender', meaning: found.meaning }
}

function replyFor(enhanced = '', words: string): SenderReply | undefined {
  const known = meaningOfCode(enhanced)
  if (isOfRecipient.test(words)) return ofMailbox.includes(enhanced) ? tooManyToContact : known
  if (known) return known
  // A full mailbox may come with words such as "quota exceeded".
  if (/\.2\.2$/.test(enhanced) && !isOfSendingAlone.test(words)) return undefined
  if (isOfMail.test(words)) return undefined
  // Google's relay has 4.2.1 for its own limit, too.
  if (isOfContact.test(enhanced) && !isOfSending.test(words)) return undefined
  if (isRefused.some((pattern) => pattern.test(words)))
    return refused(
      "the channel's from, or its account, is not allowed to send; verify it with the server's operator",
    )
  if (isLimit.test(words) && (isOfPeriod.test(words) || isOfSending.test(words)))
    return isOfDay.test(words) ? daily : limited('the account has reached its limit of mails', 1)
  if (isTooFast.test(words)) return tooFast
  return undefined
}

/** The meaning of an enhanced code alone for the account that sends. */
export const meaningOfCode = (enhanced: string): SenderReply | undefined =>
  Object.hasOwn(codes, enhanced) ? codes[enhanced] : undefined
