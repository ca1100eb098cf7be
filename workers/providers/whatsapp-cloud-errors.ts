import { maskedWords } from '../../src/core/masked-words.ts'
import type { Failure, Outcome } from '../../src/core/outcome.ts'
import type { KnownCode } from '../../src/core/providers/code-table.ts'
import type { WhatsAppCloudConfig } from '../../src/core/providers/whatsapp-cloud.ts'
import { whatsAppCode } from '../../src/core/providers/whatsapp-cloud-codes.ts'
import type { HttpAnswer } from './http.ts'
import { fieldsOf } from './json-fields.ts'
import { retryWaitMs } from './retry-wait.ts'
import { failureOfStatus, failureWithoutCode } from './status-failures.ts'

type Refusal = Exclude<Outcome, { outcome: 'sent' | 'uncertain' }>

/**
 * What an answer that is no success comes to.
 *
 * `{"error":{"message":"(#131026) Message undeliverable","type":"OAuthException","code":131026,"error_data":{"details":"…"}}}`
 */
export function refusal(answer: HttpAnswer, config: WhatsAppCloudConfig): Refusal {
  const { status } = answer
  const { code, isTransient, message, details } = errorOf(answer.body)
  const told = { providerStatus: status, providerCode: code?.toString() }
  const known = code === undefined ? undefined : whatsAppCode(code)
  const failure = failureOf(answer, code, known, isTransient)
  // The message is the code's title; the details may repeat what was sent, unless they are about the channel.
  const words = masked(failure.outcome === 'channel_refused' ? [message, details] : [message], config)
  const tell = (what: string) => `WhatsApp ${what} (${code === undefined ? status : `code ${code}`})${words}`
  const reason =
    failure.outcome === 'rejected' && status < 400 ? redirected(status) : tell(did[failure.outcome])
  return { ...failure, reason, retryAfterMs: retryWaitMs(answer, known?.wait), ...told }
}

const did: Record<Failure['outcome'], string> = {
  rejected: 'refuses it',
  channel_refused: 'refuses the channel',
  retry_later: "can't take it now",
}

function failureOf(
  answer: HttpAnswer,
  code: number | undefined,
  known: KnownCode | undefined,
  isTransient: boolean,
): Failure {
  if (known) {
    const { meaning: _, wait: __, ...failure } = known
    return failure
  }
  if (isTransient) return { outcome: 'retry_later', fault: 'provider' }
  // A code that isn't listed, or an answer without one: from a proxy, say.
  const own = { 403: { outcome: 'channel_refused', fault: 'sender' } } as const
  return code === undefined ? failureWithoutCode(answer, own) : failureOfStatus(answer, own)
}

function errorOf(body: string) {
  const { code, is_transient, message, error_data } = Object(fieldsOf(body).error)
  return {
    code: Number.isInteger(code) ? (code as number) : undefined,
    isTransient: is_transient === true,
    message: textOf(message).replace(/^\(#\d+\) */, ''),
    details: textOf(Object(error_data).details),
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** Meta repeats a token that it can't read. */
function masked(texts: string[], { accessToken }: WhatsAppCloudConfig): string {
  const words = maskedWords(texts.filter((text) => text !== '').join('; '), [accessToken])
  return words && `: ${words}`
}

const redirected = (status: number) =>
  `the answer is a redirect (${status}), which is not followed: set the channel's baseUrl to where the API is`
