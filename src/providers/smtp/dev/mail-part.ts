/** A mail, or a part of one: headers, and content or further parts. */
export interface MailPart {
  /** By lower-case name, unfolded and decoded; of several with one name, the last. */
  headers: Record<string, string>
  /** Decoded from its transfer encoding. */
  content: Buffer
  parts: MailPart[]
}

/** Parses a well-formed mail (RFC 5322, RFC 2045, RFC 2046). */
export function parseMail(raw: Buffer): MailPart {
  return parsePart(raw.toString('latin1'))
}

function parsePart(text: string): MailPart {
  const end = text.indexOf('\r\n\r\n')
  const headers = parseHeaders(text.slice(0, end))
  const body = text.slice(end + 4)
  const [, boundary] = /^multipart\/.*boundary="?([^";]+)"?/is.exec(headers['content-type'] ?? '') ?? []
  const parts = boundary ? body.split(`--${boundary}`).slice(1, -1) : []
  return {
    headers,
    content: decode(body, headers['content-transfer-encoding']),
    // Without the line break after the boundary, and the one before the next boundary.
    parts: parts.map((part) => parsePart(part.slice(2, -2))),
  }
}

function parseHeaders(head: string): Record<string, string> {
  const lines = head.replace(/\r\n[ \t]+/g, ' ').split('\r\n')
  return Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), decodeWords(line.slice(colon + 1).trim())]
    }),
  )
}

/** Decodes encoded words (RFC 2047). */
function decodeWords(text: string): string {
  return text
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([qb])\?([^?]*)\?=/gi, (_, encoding: string, word: string) =>
      encoding.toLowerCase() === 'b'
        ? Buffer.from(word, 'base64').toString('latin1')
        : unquote(word.replaceAll('_', ' ')),
    )
    .replace(/[\x80-\xff]+/g, (bytes) => Buffer.from(bytes, 'latin1').toString())
}

function decode(body: string, encoding = '7bit'): Buffer {
  if (encoding === 'base64') return Buffer.from(body, 'base64')
  const text = encoding === 'quoted-printable' ? unquote(body.replace(/=\r\n/g, '')) : body
  return Buffer.from(text, 'latin1')
}

function unquote(text: string): string {
  return text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16)))
}
