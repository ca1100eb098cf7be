import type { Failure } from '../../core/sends/outcome.ts'
import type { AnswerParts, HttpAnswer } from '../shared/http/http-call.ts'
import { jsonFieldsOf, textIn } from '../shared/http/json-fields.ts'
import { isSuccess } from '../shared/http/status-failures.ts'

export const statuses = { 403: { outcome: 'channel_refused', fault: 'sender' } } as const

export const readAnswer = ({ status, body }: HttpAnswer): AnswerParts =>
  isSuccess(status) ? readAccepted(body) : readError(status, body)

function readAccepted(body: string): AnswerParts {
  const { messages } = jsonFieldsOf(body)
  return { messageId: idOf(messages), heldBackAs: heldBackBy(messages) }
}

/** Reads the answer to an upload: `{"id":"1037543291543636"}`. */
export const mediaIdIn = ({ body }: HttpAnswer): string | undefined => textIn(jsonFieldsOf(body).id)

const numberUnknown = '33'
const transient: Failure = { outcome: 'retry_later', fault: 'provider' }

/** Reads `{"error":{"message":"(#131026) Message undeliverable","type":"OAuthException","code":131026,"error_data":{"details":"…"}}}`. */
function readError(status: number, body: string): AnswerParts {
  const { code: given, error_subcode, is_transient, message, error_data } = Object(jsonFieldsOf(body).error)
  const code = Number.isInteger(given) ? String(given) : undefined
  // A phone number id that doesn't exist, or that the token may not use: `"code":100,"error_subcode":33`. Otherwise 100 is about
  // the message.
  const isOfNumber = code === '100' && error_subcode === Number(numberUnknown)
  return {
    code,
    decidingCode: isOfNumber ? numberUnknown : code,
    failure: is_transient === true ? transient : undefined,
    // The code's title.
    title: (textIn(message) ?? '').replace(/^\(#\d+\) */, ''),
    // May repeat content or contact.
    details: textIn(Object(error_data).details),
    reason: code === undefined && status >= 300 && status < 400 ? redirected(status) : undefined,
  }
}

const redirected = (status: number) =>
  `the answer is a redirect (${status}), which is not followed: set the channel's baseUrl to the API's new address`

/** `{"messages":[{"id":"wamid.…","message_status":"held_for_quality_assessment"}]}`: accepted, but WhatsApp may still drop it. */
function heldBackBy(list: unknown): string | undefined {
  const status: unknown = Array.isArray(list) ? Object(list[0]).message_status : undefined
  const isKnownForm = typeof status === 'string' && /^[a-z_]{1,64}$/.test(status)
  return isKnownForm && status !== 'accepted' ? status : undefined
}

const idOf = (list: unknown): string | undefined =>
  Array.isArray(list) ? textIn(Object(list[0]).id) : undefined
