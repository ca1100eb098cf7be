import type { ConnectionOptions } from 'node:tls'
import { maskedWords } from '../../src/core/masked-words.ts'
import type { Outcome } from '../../src/core/outcome.ts'
import type { SmtpConfig } from '../../src/core/providers/smtp.ts'
import type { Provider } from '../provider.ts'
import type { MediaFetcher } from './fetch-media.ts'
import { composeMail, type Mail } from './smtp-mail.ts'
import { type SmtpResult, type Step, sendMail } from './smtp-session.ts'

/**
 * Hands each message as a mail to the channel's server (docs/providers/smtp.md).
 *
 * @param tls what else holds for TLS, such as authorities to trust besides the usual ones.
 */
export function smtp(media: MediaFetcher, tls: ConnectionOptions = {}): Provider<SmtpConfig> {
  return {
    async send(delivery, signal): Promise<Outcome> {
      const mail = await composed(delivery, media, signal)
      if ('outcome' in mail) return mail
      return outcomeOf(await sendMail(mail, delivery.config, tls, signal), mail.messageId, delivery.config)
    },
  }
}

/** Nothing was called yet, whatever goes wrong. */
async function composed(...given: Parameters<typeof composeMail>): Promise<Mail | Outcome> {
  try {
    return await composeMail(...given)
  } catch {
    return { outcome: 'rejected', reason: 'no mail could be made of the message' }
  }
}

function outcomeOf(result: SmtpResult, messageId: string, config: SmtpConfig): Outcome {
  switch (result.kind) {
    case 'taken':
      return {
        outcome: 'sent',
        // Some servers put an id of their own in its place.
        providerMessageId: result.messageId ?? messageId,
        providerStatus: codeOf(result.reply),
      }
    case 'refused':
      return refusalOf(result.step, result.reply, config)
    case 'too_large':
      return { outcome: 'rejected', reason: 'the mail is larger than the server takes' }
    case 'no_login':
    case 'no_tls':
      return { outcome: 'channel_refused', reason: result.reason }
    case 'not_sent':
      return { outcome: 'retry_later', reason: result.reason }
    case 'maybe_sent':
      return { outcome: 'uncertain', reason: result.reason }
    default:
      return result satisfies never
  }
}

/** Up to the login the server knows nothing of the message: what it refuses is the channel. */
const stepsOfChannel: Step[] = ['connection', 'tls', 'login']

/** 5yz replies that are about the login, at whatever step they come (RFC 4954, 6). */
const loginCodes = [530, 534, 535, 538]

function refusalOf(step: Step, reply: string, config: SmtpConfig): Outcome {
  const providerStatus = codeOf(reply)
  const providerCode = /^\d{3}[ -]([245]\.\d{1,3}\.\d{1,3})\b/.exec(reply)?.[1]
  const told = { reason: reasonOf(step, reply, config), providerStatus, providerCode }
  if (providerStatus < 500) return { outcome: 'retry_later', ...told }
  const isOfChannel = stepsOfChannel.includes(step) || loginCodes.includes(providerStatus)
  return { outcome: isOfChannel ? 'channel_refused' : 'rejected', ...told }
}

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

/** Once it knows the contact, the server's words may repeat it, and after it the content: they are left out. */
function reasonOf(step: Step, reply: string, config: SmtpConfig): string {
  if (step === 'recipient' || step === 'content') return refused[step]
  const words = maskedWords(wordsOf(reply), secretsOf(config))
  return words ? `${refused[step]}: ${words}` : refused[step]
}

/** What is said at a login, which servers like to repeat: the user and pass, in the clear or as PLAIN puts them together. */
function secretsOf({ user = '', pass = '' }: SmtpConfig): string[] {
  return [user, pass, `\0${user}\0${pass}`]
}

/** The text of all its lines. */
function wordsOf(reply: string): string {
  return reply
    .split('\n')
    .map((line) => line.replace(/^\d{3}[ -]?(\d\.\d{1,3}\.\d{1,3}\b)?/, '').trim())
    .join(' ')
    .trim()
}
