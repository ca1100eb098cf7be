import type { ConnectionOptions } from 'node:tls'
import { maskText } from '../../src/core/contacts/mask-text.ts'
import type { Network } from '../../src/core/requests/public-address.ts'
import type { AttemptOutcome, Failure, Outcome } from '../../src/core/sends/outcome.ts'
import { distinctTexts, reasonOf } from '../../src/providers/shared/distinct-texts.ts'
import type { SmtpConfig } from '../../src/providers/smtp/config.ts'
import { composeMail, type Mail } from '../../src/providers/smtp/mail.ts'
import { failureOfReply } from '../../src/providers/smtp/replies/failures.ts'
import { hardBounceOf } from '../../src/providers/smtp/replies/hard-bounces.ts'
import { meaningInWords } from '../../src/providers/smtp/replies/recipient-words.ts'
import { senderReplyOf } from '../../src/providers/smtp/replies/sender-replies.ts'
import type { MediaFetcher } from '../http/media-fetcher.ts'
import type { Delivery, Provider } from './provider.ts'
import { openSmtpConnections } from './smtp-connections.ts'
import { type SmtpResult, type Step, sendMail } from './smtp-session.ts'

/**
 * Sends each message as a mail, by the channel's server (docs/reference/providers/smtp.md).
 *
 * @param media fetches attachments given by a link.
 * @param tls further TLS options, such as additional trusted CAs.
 * @param connections keeps those that may bring further mails.
 * @param allowedPrivateNetworks networks to whose servers mails may go in clear.
 */
export function smtp(
  media: MediaFetcher,
  tls: ConnectionOptions = {},
  connections = openSmtpConnections(),
  allowedPrivateNetworks: readonly Network[] = [],
): Provider<SmtpConfig> {
  return {
    media,
    close: async () => connections.close(),
    async send(delivery, signal, moved): Promise<AttemptOutcome> {
      const mail = composed(delivery)
      if ('outcome' in mail) return mail
      const session = { config: delivery.config, tls, connections, allowedPrivateNetworks }
      const result = await sendMail(mail, session, signal, moved)
      return outcomeOf(result, mail.messageId, delivery.config)
    },
  }
}

/** Composing makes no call, so an error here rejects the message instead of counting as uncertain. */
function composed(delivery: Delivery<SmtpConfig>): Mail | Outcome {
  try {
    return composeMail(delivery)
  } catch {
    return { ...ofMessage, reason: 'the message could not be converted to a mail' }
  }
}

const ofMessage = { outcome: 'rejected', fault: 'message' } as const

function outcomeOf(result: SmtpResult, messageId: string, config: SmtpConfig): AttemptOutcome {
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
      return { ...ofMessage, reason: 'the mail is larger than the server accepts' }
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

/** What the words of a refusal say of the contact. The words themselves are left out, because they may repeat it. */
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
