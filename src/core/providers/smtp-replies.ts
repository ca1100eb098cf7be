import type { ProviderAnswer } from '../outcome.ts'

/** Enhanced status codes (RFC 3463 and its registry), without the class that says whether it is for good. */
const details: Record<string, string> = {
  '1.1': 'there is no such mailbox',
  '1.2': "the contact's domain does not exist or takes no mail",
  '1.3': "the server does not take the contact's address for one",
  '1.6': 'the mailbox has moved',
  '1.7': "the server does not take the channel's from for an address",
  '1.8': "the domain of the channel's from does not exist",
  '1.10': "the contact's domain takes no mail",
  '2.1': 'the mailbox is disabled',
  '2.2': 'the mailbox is full',
  '2.3': 'the mail is too large for the mailbox',
  '3.1': "the server's storage is full",
  '3.2': 'the server takes no mail now',
  '3.4': 'the mail is too large for the server',
  '4.1': "the contact's server does not answer",
  '4.2': "the connection to the contact's server was bad",
  '4.4': "no way leads to the contact's server",
  '4.5': 'the server is overloaded',
  '4.7': 'the server gave up trying',
  '5.3': 'too many recipients',
  '6.1': 'the server does not take this kind of content',
  '7.0': "the server's policy forbids it",
  '7.1': "the server's policy forbids it, often as spam",
  '7.8': "the channel's user or pass is wrong",
  '7.9': 'this way of logging in is too weak for the server',
  '7.20': 'the mail has no valid DKIM signature',
  '7.23': "the sender's domain does not allow this server (SPF)",
  '7.25': "the sending server's address has no name (reverse DNS)",
  '7.26': "the sender's domain could not be verified (SPF, DKIM)",
}

/** Replies without one (RFC 5321, RFC 4954). */
const replies: Record<number, string> = {
  421: 'the server is closing, or takes no mail now',
  450: 'the mailbox cannot be used now: busy, or first mails are kept waiting',
  451: 'the server had a fault',
  452: "the server's storage is full, or too many mails came",
  454: 'the login or TLS does not work now',
  530: 'the server wants a login',
  534: 'this way of logging in is too weak for the server',
  535: "the channel's user or pass is wrong",
  538: 'the server wants TLS before the login',
  550: "there is no such mailbox, or the server's policy forbids it",
  551: 'the mailbox is not on this server',
  552: 'the mailbox is full, or the mail too large',
  553: "the server does not take the contact's or the sender's address",
  554: 'the server refused the mail, often as spam',
}

/** What a server's reply means; the enhanced code says more than the three digits. */
export function meaningOfReply({ providerStatus, providerCode }: ProviderAnswer): string | undefined {
  const detail = details[providerCode?.replace(/^[45]\./, '') ?? '']
  return detail ?? (providerStatus === undefined ? undefined : replies[providerStatus])
}
