import type { Fault } from '../../core/sends/outcome.ts'

const words: Record<Fault, string> = {
  provider: 'at the provider, or on the way to it',
  recipient: 'by the recipient: their number, mailbox or a limit of messages to them',
  message: 'by the message or its media',
  sender: 'by the channel: its credentials, sender or account',
}

/** Whose fault it was, in words. Other reasons are the service's own, and say themselves. */
export const faultWords = (fault: string): string => (fault in words ? words[fault as Fault] : fault)

/** The choices of a filter. */
export const faultOptions = Object.entries(words)
