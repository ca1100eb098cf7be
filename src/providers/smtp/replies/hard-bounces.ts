import type { AutoCause } from '../../../core/suppression/suppression.ts'
import { isVagueCode, type MailRefusal, saysNoSuchContact, wordsToRead } from './recipient-words.ts'

/**
 * Enhanced codes that say that there is no such address, or that its mailbox is disabled:
 * https://www.iana.org/assignments/smtp-enhanced-status-codes (5.1.10 is Microsoft's for an unknown recipient, too; its 5.1.351 is
 * "Remote server returned unknown recipient or mailbox unavailable":
 * https://learn.microsoft.com/en-us/exchange/troubleshoot/email-delivery/ndr/non-delivery-reports-in-exchange-online).
 */
const hardCodes = ['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.1.351', '5.2.1']

/** Words that servers add to such a code or such words although the address exists. */
const saysOtherwise =
  /\bfull\b|quota|\bspam|\bblock(?:ed(?! due to inactivity)|ing|list)|black ?list|\bpolic(?:y|ies)\b|reputation|gr[ae]y-?list|\breceiving\b|\btoo (?:many|much)\b|\brate\b|try again|temporar|unsolicited|\bbanned\b|\bcontent\b|\b(?:SPF|DKIM|DMARC)\b/i

/**
 * Why the contact of a refused mail is suppressed; null if it isn't. Clear words count beside a code that says nothing, such as `5.0.0`.
 */
export function hardBounceOf({ code, reply, words }: MailRefusal): AutoCause | null {
  if (reply !== null && reply < 500) return null
  const text = wordsToRead(words)
  if (saysOtherwise.test(text)) return null
  if (code && hardCodes.includes(code)) return 'bounce'
  return isVagueCode(code) && saysNoSuchContact(text) ? 'bounce' : null
}
