import { randomBytes } from 'node:crypto'
import { maxMediaBytes } from '../../../core/messages/message-body.ts'
import { decodeDigits } from '../../../core/requests/base64.ts'
import type { SendRequest } from '../../../core/sends/send-request.ts'
import type { BodyForm, createParseBody, Parsed } from '../parse-body.ts'

const quote = 0x22
const comma = 0x2c
const field = Buffer.from('"base64"')
const longestDataUrlHead = 1024
/** A send has one media, and up to ten attachments. */
const maxContents = 11
const placeholderBytes = 48
/** Parsed instead of the contents. Random, so that no client can send them. */
const placeholders = Array.from({ length: maxContents }, () => randomBytes(placeholderBytes))
const placeholderDigits = placeholders.map((bytes) => Buffer.from(bytes.toString('base64')))

/**
 * Parses a large body. Nearly all of it is content, which only has to be decoded. So the contents are cut out, the rest is parsed
 * with short placeholders, and if these turn out to be the send's contents, they are replaced by the decoded ones. Otherwise the
 * body is parsed as a whole, so that the result is always the same as that of `parse`.
 */
export function parseLarge(parse: ReturnType<typeof createParseBody>, body: Buffer, form: BodyForm): Parsed {
  if (form === 'batch') return parse(body, form)
  const cuts = digitsOf(body)
  const contents = cuts.flatMap(({ start, end }) => decodeDigits(body.subarray(start, end)) ?? [])
  const bytes = contents.reduce((sum, { length }) => sum + length, 0)
  if (contents.length === 0 || contents.length < cuts.length || bytes > maxMediaBytes)
    return parse(body, form)
  const parsed = parse(withPlaceholders(body, cuts), form)
  const expected = Buffer.concat(placeholders.slice(0, cuts.length))
  const areContents = 'request' in parsed && parsed.request.mediaContent?.equals(expected)
  return areContents ? { request: withContents(parsed.request, contents) } : parse(body, form)
}

interface Cut {
  start: number
  end: number
}

function withPlaceholders(body: Buffer, cuts: readonly Cut[]): Buffer {
  const parts = cuts.flatMap(({ start }, index) => [
    body.subarray(cuts[index - 1]?.end ?? 0, start),
    placeholderDigits[index] ?? Buffer.alloc(0),
  ])
  return Buffer.concat([...parts, body.subarray(cuts.at(-1)?.end ?? 0)])
}

/**
 * The positions of the digits of the fields `base64`, without the heads of data: URLs, which end with the only comma. These are
 * guesses: a match may also be within a text. Then a placeholder doesn't become a content, and the body is parsed again.
 */
function digitsOf(body: Buffer): Cut[] {
  const cuts: Cut[] = []
  for (let at = 0; cuts.length < maxContents; ) {
    const named = body.indexOf(field, at)
    const opening = named === -1 ? -1 : body.indexOf(quote, named + field.length)
    const end = opening === -1 ? -1 : body.indexOf(quote, opening + 1)
    if (end === -1) break
    const head = body.subarray(opening + 1, Math.min(opening + 1 + longestDataUrlHead, end))
    cuts.push({ start: opening + 1 + head.indexOf(comma) + 1, end })
    at = end + 1
  }
  return cuts
}

/** Each size is that of a placeholder, in the order of the contents. */
function withContents(request: SendRequest, contents: readonly Buffer[]): SendRequest {
  const left = contents.map(({ length }) => length)
  const sized = <Described extends { sizeBytes?: number | undefined }>(described: Described): Described =>
    described.sizeBytes === undefined ? described : { ...described, sizeBytes: left.shift() }
  const { email, ...message } = request.message
  const ofType = message.type === 'media' ? { ...message, media: sized(message.media) } : message
  const attachments = email?.attachments?.map(sized)
  const [only] = contents
  return {
    ...request,
    message: email ? { ...ofType, email: { ...email, ...(attachments && { attachments }) } } : ofType,
    mediaContent: contents.length === 1 ? only : Buffer.concat(contents),
  }
}
