import { randomBytes } from 'node:crypto'
import { maxMediaBytes } from '../../../core/messages/message-body.ts'
import { decodeDigits } from '../../../core/requests/base64.ts'
import type { SendRequest } from '../../../core/sends/send-request.ts'
import type { BodyForm, createParseBody, Parsed } from '../parse-body.ts'

const quote = 0x22
const comma = 0x2c
const field = Buffer.from('"base64"')
const longestDataUrlHead = 1024
/** Parsed instead of the content. Random, so that no client can send it. */
const placeholder = randomBytes(48)
const placeholderDigits = Buffer.from(placeholder.toString('base64'))

/**
 * Parses a large body. Nearly all of it is content, which only has to be decoded. So the content is cut out, the rest is parsed
 * with a short placeholder, and if the placeholder turns out to be the send's content, it is replaced by the decoded content.
 * Otherwise the body is parsed as a whole, so that the result is always the same as that of `parse`.
 */
export function parseLarge(parse: ReturnType<typeof createParseBody>, body: Buffer, form: BodyForm): Parsed {
  if (form === 'batch') return parse(body, form)
  const digits = digitsOf(body)
  const content = digits && decodeDigits(body.subarray(digits.start, digits.end))
  if (!content || content.length > maxMediaBytes) return parse(body, form)
  const short = [body.subarray(0, digits.start), placeholderDigits, body.subarray(digits.end)]
  const parsed = parse(Buffer.concat(short), form)
  const isContent = 'request' in parsed && parsed.request.mediaContent?.equals(placeholder)
  return isContent ? { request: withContent(parsed.request, content) } : parse(body, form)
}

/**
 * The position of the digits of a field `base64`, without the head of a data: URL, which ends with the only comma. This is a
 * guess: the match may also be within a text. Then the placeholder doesn't become the content, and the body is parsed again.
 */
function digitsOf(body: Buffer): { start: number; end: number } | undefined {
  const named = body.indexOf(field)
  const opening = named === -1 ? -1 : body.indexOf(quote, named + field.length)
  const end = opening === -1 ? -1 : body.indexOf(quote, opening + 1)
  if (end === -1) return undefined
  const head = body.subarray(opening + 1, Math.min(opening + 1 + longestDataUrlHead, end))
  return { start: opening + 1 + head.indexOf(comma) + 1, end }
}

function withContent(request: SendRequest, content: Buffer): SendRequest {
  const { message } = request
  if (message.type !== 'media') return request
  const media = { ...message.media, sizeBytes: content.length }
  return { ...request, message: { ...message, media }, mediaContent: content }
}
