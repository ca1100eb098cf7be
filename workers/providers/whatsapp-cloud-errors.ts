import { maskedWords } from '../../src/core/masked-words.ts'
import type { Handling, Outcome } from '../../src/core/outcome.ts'
import type { WhatsAppCloudConfig } from '../../src/core/providers/whatsapp-cloud.ts'
import { whatsAppCode } from '../../src/core/providers/whatsapp-cloud-codes.ts'
import { type HttpAnswer, retryAfterMs } from './http.ts'
import { fieldsOf } from './json-fields.ts'
import { handlingOfStatus, handlingWithoutCode } from './status-handling.ts'

type Refusal = Exclude<Outcome, { outcome: 'sent' | 'uncertain' }>

/** Many have blocked the number or reported it: what it may send comes back over hours. */
const spamLimit = { code: 131048, waitMs: 15 * 60 * 1000 }

/**
 * What an answer that is no success comes to.
 *
 * `{"error":{"message":"(#131026) Message undeliverable","type":"OAuthException","code":131026,"error_data":{"details":"…"}}}`
 */
export function refusal(answer: HttpAnswer, config: WhatsAppCloudConfig): Refusal {
  const { status } = answer
  const { code, isTransient, message, details } = errorOf(answer.body)
  const told = { providerStatus: status, providerCode: code?.toString() }
  const handling = handlingOf(answer, code, isTransient)
  // The message is the code's title; the details may repeat what was sent, unless they are about the channel.
  const words = masked(handling === 'channel_refused' ? [message, details] : [message], config)
  const tell = (what: string) => `WhatsApp ${what} (${code === undefined ? status : `code ${code}`})${words}`
  switch (handling) {
    case 'rejected':
      return { outcome: handling, reason: status < 400 ? redirected(status) : tell('refuses it'), ...told }
    case 'channel_refused':
      return { outcome: handling, reason: tell('refuses the channel'), ...told }
    case 'retry_later': {
      const waitMs = retryAfterMs(answer)
      const retryIn = code === spamLimit.code ? Math.max(spamLimit.waitMs, waitMs ?? 0) : waitMs
      return { outcome: handling, reason: tell("can't take it now"), retryAfterMs: retryIn, ...told }
    }
    default:
      return handling satisfies never
  }
}

function handlingOf(answer: HttpAnswer, code: number | undefined, isTransient: boolean): Handling {
  if (code !== undefined) {
    const known = whatsAppCode(code)
    if (known) return known.handling
  }
  if (isTransient) return 'retry_later'
  // A code that isn't listed, or an answer without one: from a proxy, say.
  const own = { 403: 'channel_refused' } as const
  return code === undefined ? handlingWithoutCode(answer, own) : handlingOfStatus(answer, own)
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
