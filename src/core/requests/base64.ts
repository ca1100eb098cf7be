import { mimetypeIn } from '../messages/mimetype.ts'

const dataUrl = /^data:((?:[\w!#$&^.+-]+\/[\w!#$&^.+-]+)?(?:;[\w!#$&^.+-]+=[^,;]*)*)(;base64)?,/
const longestDataUrlHead = 1024
/** Digits handled at once: a multiple of four. */
const piece = 64 * 1024
const equals = 0x3d
const minus = 0x2d
const underscore = 0x5f
const lineFeed = 0x0a
const carriageReturn = 0x0d

/** The accepted form, as far as a linear-time pattern can express it: not the number of digits. */
export const base64Pattern = `^(?:${dataUrl.source.slice(1).replace('(;base64)?', ';base64')})?${String.raw`[A-Za-z0-9+/\r\n]*[A-Za-z0-9+/][\r\n]*(?:=[\r\n]*){0,2}$`}`

export type Decoded = { content: Buffer; mimetype: string | undefined } | { issue: string }

/** Decodes the `base64` field: standard alphabet, line breaks ignored, padding optional, or all of that in a `data:` URL. */
export function decodeBase64(value: string, maxBytes: number): Decoded {
  const url = value.startsWith('data:') ? dataUrl.exec(value.slice(0, longestDataUrlHead)) : undefined
  if (url === null || (url && !url[2]))
    return { issue: 'a data: URL has to be of the form data:<type>;base64,<content>' }
  const encoded = withoutLineBreaks(url ? value.slice(url[0].length) : value)
  const padding = encoded.endsWith('==') ? 2 : encoded.endsWith('=') ? 1 : 0
  const digits = encoded.slice(0, encoded.length - padding)
  const content = Buffer.from(digits, 'base64')
  if (!isEncodedAs(content, digits)) return { issue: 'not base64 (standard alphabet, line breaks allowed)' }
  if (digits.length === 0) return { issue: 'is empty' }
  if (digits.length % 4 === 1 || (padding > 0 && encoded.length % 4 !== 0))
    return { issue: 'not base64 (cut off, or a character too many)' }
  if (content.length > maxBytes) return { issue: `more than ${maxBytes} bytes when decoded` }
  return { content, mimetype: mimetypeIn(url?.[1] ?? '') }
}

/**
 * Decodes base64 given as bytes, with a tenth of the work of `decodeBase64`, which needs a string.
 *
 * @returns undefined unless it is valid base64 in one line; `decodeBase64` then names the issue.
 */
export function decodeDigits(encoded: Buffer): Buffer | undefined {
  const padding = encoded.at(-1) !== equals ? 0 : encoded.at(-2) !== equals ? 1 : 2
  const digits = encoded.subarray(0, encoded.length - padding)
  const isWhole = padding > 0 ? encoded.length % 4 === 0 : digits.length % 4 !== 1
  // Node.js also accepts the URL alphabet. It skips all other invalid characters, which makes the content too short.
  if (!isWhole || digits.includes(minus) || digits.includes(underscore)) return undefined
  const content = Buffer.allocUnsafeSlow(Math.floor((digits.length * 3) / 4))
  let length = 0
  for (let at = 0; at < digits.length; at += piece) {
    length += content.write(digits.toString('latin1', at, at + piece), length, 'base64')
  }
  return length > 0 && length === content.length ? content : undefined
}

/** Whether the digits were all valid. Node.js skips invalid ones, so this encodes again, which is faster than a pattern. */
function isEncodedAs(content: Buffer, digits: string): boolean {
  const whole = digits.length - (digits.length % 4)
  if (digits.includes('=') || !/^[A-Za-z0-9+/]*$/.test(digits.slice(whole))) return false
  // Piece by piece, so that the data stays in the CPU's cache.
  for (let at = 0; at < whole; at += piece) {
    const end = Math.min(at + piece, whole)
    if (content.toString('base64', (at / 4) * 3, (end / 4) * 3) !== digits.slice(at, end)) return false
  }
  return true
}

/** Works on bytes, because replacing millions of line breaks in a string takes seconds. */
function withoutLineBreaks(text: string): string {
  if (!text.includes('\n') && !text.includes('\r')) return text
  const bytes = Buffer.from(text)
  let kept = 0
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at] as number
    if (byte !== lineFeed && byte !== carriageReturn) bytes[kept++] = byte
  }
  return bytes.toString('latin1', 0, kept)
}
