import type { Failure, ProviderAnswer } from '../../../core/sends/outcome.ts'
import { meaningInWords, refusedByPolicy } from './recipient-words.ts'
import { meaningOfCode } from './sender-replies.ts'

/** Enhanced status codes (RFC 3463 and its registry), without the class digit, which says whether the failure is permanent. */
const details: Record<string, string> = {
  '1.1': 'there is no such mailbox',
  '1.2': "the contact's domain does not exist or accepts no mail",
  '1.3': "the server finds the contact's address invalid",
  '1.6': 'the mailbox has moved',
  '1.7': "the server finds the channel's from address invalid",
  '1.8': "the domain of the channel's from does not exist",
  // The registry's meaning is the second one, Microsoft's the first.
  '1.10': "there is no such mailbox, or the contact's domain accepts no mail",
  // Microsoft's
  '1.351': 'there is no such mailbox',
  // Gmail has it for both.
  '2.1': 'the mailbox is disabled, or gets too many mails now',
  '2.2': 'the mailbox is full',
  '2.3': 'the mail is too large for the mailbox',
  '3.1': "the server's storage is full",
  '3.2': 'the server accepts no mail now',
  '3.4': 'the mail is too large for the server',
  '4.1': "the contact's server does not answer",
  '4.2': "the connection to the contact's server failed",
  '4.4': "there is no route to the contact's server",
  '4.5': 'the server is overloaded',
  '4.7': 'the server gave up after several tries',
  '5.3': 'too many recipients',
  '6.1': 'the server does not accept this kind of content',
  '7.0': "the server's policy forbids it",
  '7.1': "the server's policy forbids it, often as spam",
  '7.8': "the channel's user or pass is wrong",
  '7.9': 'the server requires a stronger login method',
  '7.20': 'the mail has no valid DKIM signature',
  '7.23': "the sender's domain does not allow this server (SPF)",
  '7.25': "the sending server's address has no host name (reverse DNS)",
  '7.26': "the sender's domain could not be verified (SPF, DKIM)",
}

/** Reply codes, for replies without an enhanced status code (RFC 5321, RFC 4954). */
const replies: Record<number, string> = {
  421: 'the server is closing, or accepts no mail now',
  450: 'the mailbox is not available now: busy, or the server delays mail from new senders (greylisting)',
  451: 'the server had an error',
  452: "the server's storage is full, or it received too many mails",
  454: 'login or TLS is not available now',
  530: 'the server requires a login',
  534: 'the server requires a stronger login method',
  535: "the channel's user or pass is wrong",
  538: 'the server requires TLS before the login',
  550: "there is no such mailbox, or the server's policy forbids it",
  551: 'the mailbox is not on this server',
  552: 'the mailbox is full, or the mail is too large',
  553: "the server refused the contact's or the sender's address",
  554: 'the server refused the mail, often as spam',
}

/**
 * The meaning of a server's reply. The enhanced code comes first, because it is more specific than the reply code; a report without one
 * has the reply code in its place.
 */
export function meaningOfReply({ providerStatus, providerCode }: ProviderAnswer): string | undefined {
  const detail = details[providerCode?.replace(/^[45]\./, '') ?? '']
  return (
    meaningOfCode(providerCode ?? '')?.meaning ?? detail ?? replies[providerStatus ?? Number(providerCode)]
  )
}

/** The decision of an enhanced code alone. Without a code of the account's, 4.x.x is tried again, and 5.1.x and 5.2.x are the contact's. */
export function failureOfCode(enhanced: string): Failure | undefined {
  const known = meaningOfCode(enhanced)
  if (known) return known
  if (/^4\.\d+\.\d+$/.test(enhanced)) return { outcome: 'retry_later', fault: 'provider' }
  return /^5\.[12]\.\d+$/.test(enhanced) ? { outcome: 'rejected', fault: 'recipient' } : undefined
}

/** The meaning of a reply in a report: by its words where its code has several meanings. It is of the contact's server, which knows nothing of the channel's login. */
export function meaningOfBounce({
  code,
  reply,
  words,
}: {
  code: string | null
  reply: number | null
  words: string
}): string | undefined {
  const [, detail = ''] = /^[45]\.(7\.\d+)$/.exec(code ?? '') ?? []
  if (detail) return bounceOfPolicy.includes(detail) ? details[detail] : refusedByPolicy
  const known = meaningInWords({ code, reply, words }) ?? meaningOfReply({ providerCode: code ?? undefined })
  if (known !== undefined || reply === null) return known
  return loginReplies.includes(reply) ? refusedByPolicy : meaningOfReply({ providerStatus: reply })
}

/** Refusals of mails that lack something: a signature, or a name or a permission of the server. */
const bounceOfPolicy = ['7.1', '7.20', '7.23', '7.25', '7.26']
const loginReplies = [454, 530, 534, 535, 538]
