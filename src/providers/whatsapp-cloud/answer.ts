import type { HttpAnswer } from '../../../workers/http/http.ts'
import { maskText } from '../../core/contacts/mask-text.ts'
import type { Failure, Outcome } from '../../core/sends/outcome.ts'
import type { KnownCode } from '../shared/code-table.ts'
import { distinctTexts, reasonOf } from '../shared/distinct-texts.ts'
import { jsonFieldsOf } from '../shared/http/json-fields.ts'
import { retryWaitMs } from '../shared/http/retry-wait.ts'
import { failureOfStatus, failureWithoutCode } from '../shared/http/status-failures.ts'
import { whatsAppCode } from './codes.ts'
import type { WhatsAppCloudConfig } from './config.ts'

type Refusal = Exclude<Outcome, { outcome: 'sent' | 'uncertain' }>

/**
 * The outcome of an answer outside 2xx:
 *
 * `{"error":{"message":"(#131026) Message undeliverable","type":"OAuthException","code":131026,"error_data":{"details":"…"}}}`
 */
export function refusal(answer: HttpAnswer, config: WhatsAppCloudConfig): Refusal {
  const { status } = answer
  const { code, decidingCode, isTransient, message, details } = errorOf(answer.body)
  const known = decidingCode === undefined ? undefined : whatsAppCode(decidingCode)
  const failure = failureOf(answer, code, known, isTransient)
  // The message is the code's title. The details may repeat content or contact, unless they are about the channel.
  const words = masked(failure.outcome === 'channel_refused' ? [message, details] : [message], config)
  const reason =
    failure.outcome === 'rejected' && status < 400
      ? redirected(status)
      : reasonOf(`WhatsApp answered ${status}${code === undefined ? '' : ` with its code ${code}`}`, [words])
  return {
    ...failure,
    reason,
    retryAfterMs: retryWaitMs(answer, known?.wait),
    providerStatus: status,
    providerCode: code?.toString(),
  }
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
  // An unknown code, or an answer without one, for example from a proxy.
  const own = { 403: { outcome: 'channel_refused', fault: 'sender' } } as const
  return code === undefined ? failureWithoutCode(answer, own) : failureOfStatus(answer, own)
}

const numberUnknown = 33

function errorOf(body: string) {
  const { code: given, error_subcode, is_transient, message, error_data } = Object(jsonFieldsOf(body).error)
  const code = Number.isInteger(given) ? (given as number) : undefined
  return {
    code,
    // A phone number id that doesn't exist, or that the token may not use: `"code":100,"error_subcode":33`. Otherwise 100 is
    // about the message.
    decidingCode: code === 100 && error_subcode === numberUnknown ? numberUnknown : code,
    isTransient: is_transient === true,
    message: textOf(message).replace(/^\(#\d+\) */, ''),
    details: textOf(Object(error_data).details),
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : '')

/** Masks the access token, which Meta repeats if it is malformed. */
const masked = (texts: string[], { accessToken }: WhatsAppCloudConfig): string =>
  maskText(distinctTexts(texts).join('; '), [accessToken])

const redirected = (status: number) =>
  `the answer is a redirect (${status}), which is not followed: set the channel's baseUrl to the API's new address`
