import type { AutoCause } from '../suppression.ts'

/**
 * Enhanced codes that say that there is no such address, or that its mailbox is disabled:
 * https://www.iana.org/assignments/smtp-enhanced-status-codes (5.1.10 is Microsoft's for an unknown recipient, too:
 * https://learn.microsoft.com/en-us/exchange/troubleshoot/email-delivery/ndr/non-delivery-reports-in-exchange-online).
 */
const hardCodes = ['5.1.1', '5.1.2', '5.1.3', '5.1.6', '5.1.10', '5.2.1']

/** Without such a code, as in `550 No such user here`, the words have to say it. */
const saysNoSuch = [
  /\b(?:unknown|no such|invalid|non-?existent) (?:e-?mail )?(?:user|recipient|mailbox|address|account|local part)\b/i,
  /\b(?:user|recipient|mailbox|address|account|addressee|person)(?: \S+){0,8} (?:unknown|not found|do(?:es)? ?n[o']t exist|not exist|no longer (?:exists?|valid|in use))\b/i,
  /\bdoes ?n[o']t have an? (?:\S+ )?account\b|\bno mailbox (?:here|by that name)\b|\bunrouteable address\b/i,
  /\b(?:mailbox|account)(?: \S+){0,3} (?:disabled|inactive|deactivated)\b/i,
]

/** What servers say with such a code or such words, too, although the address exists. */
const saysOtherwise =
  /\bfull\b|quota|\bspam|\bblock(?:ed|ing|list)|black ?list|\bpolic(?:y|ies)\b|reputation|gr[ae]y-?list|\breceiving\b|\btoo (?:many|much)\b|\brate\b|try again|temporar|unsolicited|\bbanned\b/i

/** More isn't read. */
const longestWords = 1000

const address = /[^\s<>]{1,64}@[^\s<>]{1,255}/g

/**
 * Why the contact of a refused mail is suppressed; null if it isn't. A code such as `5.0.0` says nothing.
 *
 * @param words the server's text, which isn't kept.
 */
export function hardBounceOf({
  code,
  reply,
  words,
}: {
  code: string | null | undefined
  reply: number | null
  words: string
}): AutoCause | null {
  if (reply !== null && reply < 500) return null
  // An address may contain any word.
  const text = words.slice(0, longestWords).replaceAll(address, '')
  if (saysOtherwise.test(text)) return null
  if (code && hardCodes.includes(code)) return 'bounce'
  const isVague = !code || code === '5.0.0'
  return isVague && saysNoSuch.some((pattern) => pattern.test(text)) ? 'bounce' : null
}
