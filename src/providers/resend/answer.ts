import type { AnswerParts, HttpAnswer } from '../shared/http/http-call.ts'
import { jsonFieldsOf, textIn } from '../shared/http/json-fields.ts'

export const statuses = { 403: { outcome: 'channel_refused', fault: 'sender' } } as const

/** Reads `{"id":"49a3…"}` or `{"statusCode":403,"name":"invalid_api_key","message":"API key is invalid"}`. */
export function readAnswer({ body }: HttpAnswer): AnswerParts {
  const { id, name, message } = jsonFieldsOf(body)
  return {
    messageId: textIn(id),
    code: typeof name === 'string' && /^[a-z_]{1,64}$/.test(name) ? name : undefined,
    details: textIn(message),
  }
}
