import type { AnswerParts, HttpAnswer } from '../shared/http/http-call.ts'
import { jsonFieldsOf, textIn } from '../shared/http/json-fields.ts'
import { vonageCodeOf } from './codes.ts'

/** "Payment required": the account has no credit. */
export const statuses = {
  402: { outcome: 'channel_refused', fault: 'sender' },
  403: { outcome: 'channel_refused', fault: 'sender' },
} as const

/** Reads `{"message_uuid":"aaaa…"}` or `{"type":"https://developer.vonage.com/api-errors/messages#1120","title":"…",…}`. */
export function readAnswer({ body }: HttpAnswer): AnswerParts {
  const { message_uuid: id, type, title } = jsonFieldsOf(body)
  return { messageId: textIn(id), code: vonageCodeOf({ type, title }), details: textIn(title) }
}
