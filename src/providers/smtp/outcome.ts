import { maskText } from '../../core/contacts/mask-text.ts'
import type { AttemptOutcome, Failure, Outcome } from '../../core/sends/outcome.ts'
import { distinctTexts, reasonOf } from '../shared/distinct-texts.ts'
import type { SmtpConfig } from './config.ts'
import { failureOfReply } from './replies/failures.ts'
import { hardBounceOf } from './replies/hard-bounces.ts'
import { meaningInWords } from './replies/recipient-words.ts'
import { senderReplyOf } from './replies/sender-replies.ts'
import type { SmtpResult, Step } from './session-result.ts'

/** The outcome of a session that was to bring one mail. */
export function outcomeOf(result: SmtpResult, messageId: string, config: SmtpConfig): AttemptOutcome {
  switch (result.kind) {
    case 'taken':
      return {
        outcome: 'sent',
        // Some servers replace the Message-ID with their own.
        providerMessageId: result.messageId ?? messageId,
        providerStatus: codeOf(result.reply),
      }
    case 'refused':
      return refusalOf(result.step, result.reply, config)
    case 'too_large':
      return { outcome: 'rejected', fault: 'message', reason: 'the mail is larger than the server accepts' }
    case 'no_login':
    case 'no_tls':
      return { outcome: 'channel_refused', fault: 'sender', reason: result.reason }
    case 'not_called':
      return { outcome: 'not_called', reason: result.shortage.reason, shortage: result.shortage }
    case 'not_sent':
      return { outcome: 'retry_later', fault: 'provider', reason: result.reason }
    case 'maybe_sent':
      return { outcome: 'uncertain', fault: 'provider', reason: result.reason }
    default:
      return result satisfies never
  }
}

function refusalOf(step: Step, reply: string, config: SmtpConfig): Outcome {
  const providerStatus = codeOf(reply)
  const providerCode = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(reply)?.[1]
  const details = { providerStatus, providerCode }
  const ofSender = senderReplyOf(providerStatus, providerCode, wordsOf(reply))
  if (ofSender) {
    const { meaning, waitMs: retryAfterMs, ...failure } = ofSender
    return {
      ...failure,
      reason: reasonAt({ step, failure, config }, reply, meaning),
      retryAfterMs,
      ...details,
    }
  }
  const failure = failureOfReply(step, providerStatus, providerCode)
  const suppresses = isOfContact(step, failure)
    ? hardBounceOf({ code: providerCode, reply: providerStatus, words: wordsOf(reply) })
    : null
  return {
    ...failure,
    reason: reasonAt({ step, failure, config }, reply, meaningAt(step, providerCode, reply)),
    ...details,
    ...(suppresses && { suppresses }),
  }
}

/** The meaning of a refusal's words for the contact. The words themselves are left out, because they may repeat it. */
const meaningAt = (step: Step, code: string | undefined, reply: string) =>
  step === 'recipient' || step === 'content'
    ? meaningInWords({ code, reply: codeOf(reply), words: wordsOf(reply) })
    : undefined

const isOfContact = (step: Step, { outcome, fault }: Failure) =>
  outcome === 'rejected' && fault === 'recipient' && (step === 'recipient' || step === 'content')

function codeOf(reply: string): number {
  return Number(reply.slice(0, 3))
}

const refused: Record<Step, string> = {
  connection: 'the server refused the connection',
  tls: 'the server offers no TLS',
  login: 'the server refused the login',
  sender: 'the server refused the sender',
  recipient: 'the server refused the recipient',
  content: 'the server refused the mail',
}

/** From RCPT TO on, the server's reply may repeat the contact, and later the content, so its text is left out. */
function reasonAt(
  { step, failure, config }: { step: Step; failure: Failure; config: SmtpConfig },
  reply: string,
  meaning = '',
): string {
  if (step === 'recipient' || step === 'content')
    return reasonOf(refused[failure.fault === 'sender' ? 'sender' : step], [meaning])
  return reasonOf(refused[step], [maskText(wordsOf(reply), secretsOf(config)), meaning])
}

/** User and pass, alone and as AUTH PLAIN combines them: replies often repeat them. */
function secretsOf({ user = '', pass = '' }: SmtpConfig): string[] {
  return [user, pass, `\0${user}\0${pass}`]
}

/** Each is compared with the others, and a server may send any number of them. */
const mostLines = 100

/** The text of a reply's lines, without its codes. */
function wordsOf(reply: string): string {
  const lines = reply
    .split('\n', mostLines)
    .map((line) => line.replace(/^\d{3}[ -]?(\d\.\d{1,3}\.\d{1,3}\b)?/, '').trim())
  return distinctTexts(lines).join(' ')
}
