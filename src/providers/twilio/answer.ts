import { wordOf } from '../../core/receipts/receipt-request.ts'
import type { AnswerParts, HttpAnswer } from '../shared/http/http-call.ts'
import { jsonFieldsOf, textIn } from '../shared/http/json-fields.ts'

/** Reads `{"sid":"SM…","status":"queued"}` or `{"code":20003,"message":"Authenticate","status":401}`. */
export function readAnswer({ body }: HttpAnswer): AnswerParts {
  const { sid, code, message } = jsonFieldsOf(body)
  return {
    messageId: textIn(sid),
    code: /^\d{1,6}$/.test(wordOf(code)) ? wordOf(code) : undefined,
    details: textIn(message),
  }
}
