import type { Failure, Fault } from '../../../core/sends/outcome.ts'
import type { Step } from '../session-result.ts'

/** Fault by the subject of an enhanced status code (RFC 3463, 3), if it is the same for all details of the subject. */
const faultsOfSubjects: Record<string, Fault> = {
  // The contact's address.
  1: 'recipient',
  // The contact's mailbox.
  2: 'recipient',
  // The server, its connections, its protocol.
  3: 'provider',
  5: 'provider',
  // The content.
  6: 'message',
}

/** Fault by subject and detail, if the details of a subject differ. */
const faultsOfDetails: Record<string, Fault> = {
  // The address, or the domain, that the channel sends from.
  '1.7': 'sender',
  '1.8': 'sender',
  // Too large for the mailbox, for the server.
  '2.3': 'message',
  '3.4': 'message',
  // From the server to the contact's server: no answer, a lost connection, no route, a loop, given up.
  '4.1': 'recipient',
  '4.2': 'recipient',
  '4.4': 'recipient',
  '4.6': 'recipient',
  '4.7': 'recipient',
}

const faultsOfSteps: Record<Step, Fault> = {
  connection: 'provider',
  tls: 'provider',
  login: 'provider',
  sender: 'provider',
  // Greylisting (450, 451 4.7.1) and most other temporary refusals at this step depend on the recipient.
  recipient: 'recipient',
  content: 'provider',
}

/** "Service not available": the server is closing or overloaded. May come at any step (RFC 5321, 3.8). */
const closing = 421
/** Permanent replies about the login. May come at any step (RFC 4954, 6). */
const loginCodes = [530, 534, 535, 538]
/** At these steps the server knows nothing of the message yet, so it refuses the channel. */
const stepsOfChannel: readonly Step[] = ['connection', 'tls', 'login']
/** "Exceeded storage allocation". As a reply to MAIL FROM, which declares the size, it means that the mail is too large. */
const tooLarge = 552

const channelRefused = { outcome: 'channel_refused', fault: 'sender' } as const

/**
 * The failure of a negative reply: by its code, else by the step at which it came.
 *
 * @param status three digits, 400 or more.
 * @param enhanced the enhanced status code, such as `4.2.2`.
 */
export function failureOfReply(step: Step, status: number, enhanced: string | undefined): Failure {
  if (status < 500) return { outcome: 'retry_later', fault: passingFault(step, status, enhanced) }
  if (stepsOfChannel.includes(step) || loginCodes.includes(status)) return channelRefused
  const fault = codeFault(enhanced)
  if (step === 'sender') {
    return status === tooLarge || fault === 'message'
      ? { outcome: 'rejected', fault: 'message' }
      : channelRefused
  }
  // Postfix refuses a sender only at RCPT TO (smtpd_delay_reject).
  if (fault === 'sender') return channelRefused
  return {
    outcome: 'rejected',
    fault: fault === 'recipient' || step === 'recipient' ? 'recipient' : 'message',
  }
}

function passingFault(step: Step, status: number, enhanced: string | undefined): Fault {
  if (status === closing) return 'provider'
  if (step === 'content' && isOfPolicy(enhanced)) return 'message'
  return codeFault(enhanced) ?? faultsOfSteps[step]
}

/** A policy reply. After the content it is about this mail; some filters greylist this way too. */
const isOfPolicy = (enhanced = '') => enhanced.split('.')[1] === '7'

function codeFault(enhanced = ''): Fault | undefined {
  const [, subject = '', detail = ''] = enhanced.split('.')
  return faultsOfDetails[`${subject}.${detail}`] ?? faultsOfSubjects[subject]
}
