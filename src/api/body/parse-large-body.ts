import { randomBytes } from 'node:crypto'
import { decodeDigits } from '../../core/base64.ts'
import { maxMediaBytes } from '../../core/message-body.ts'
import type { SendRequest } from '../../core/send-request.ts'
import type { BodyForm, bodyParser, Parsed } from './parse-body.ts'

const quote = 0x22
const comma = 0x2c
const field = Buffer.from('"base64"')
const longestDataUrlHead = 1024
/** Parsed in place of the content: no client can know it. */
const standIn = randomBytes(48)
const standInDigits = Buffer.from(standIn.toString('base64'))

/**
 * Parses a large body. Nearly all of one is content that only has to be decoded, for which it is taken out; a short one
 * is parsed in its place. Where that comes out as the content of the send, it is exchanged. Any other body is parsed as
 * it is: this way refuses nothing.
 */
export function parseLarge(parse: ReturnType<typeof bodyParser>, body: Buffer, form: BodyForm): Parsed {
  const digits = digitsOf(body)
  const content = digits && decodeDigits(body.subarray(digits.start, digits.end))
  if (!content || content.length > maxMediaBytes) return parse(body, form)
  const short = [body.subarray(0, digits.start), standInDigits, body.subarray(digits.end)]
  const parsed = parse(Buffer.concat(short), form)
  const isStandIn = 'asked' in parsed && parsed.asked.mediaContent?.equals(standIn)
  return isStandIn ? { asked: withContent(parsed.asked, content) } : parse(body, form)
}

/**
 * Where the digits of a field `base64` are; not its data: URL's head, which ends with the only comma. Where that isn't
 * what it seems to be, say a text that speaks of such a field, what stands there is exchanged in vain.
 */
function digitsOf(body: Buffer): { start: number; end: number } | undefined {
  const named = body.indexOf(field)
  const opening = named === -1 ? -1 : body.indexOf(quote, named + field.length)
  const end = opening === -1 ? -1 : body.indexOf(quote, opening + 1)
  if (end === -1) return undefined
  const head = body.subarray(opening + 1, Math.min(opening + 1 + longestDataUrlHead, end))
  return { start: opening + 1 + head.indexOf(comma) + 1, end }
}

function withContent(asked: SendRequest, content: Buffer): SendRequest {
  const { message } = asked
  if (message.type !== 'media') return asked
  const media = { ...message.media, sizeBytes: content.length }
  return { ...asked, message: { ...message, media }, mediaContent: content }
}
