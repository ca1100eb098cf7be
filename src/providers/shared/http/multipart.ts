import { randomUUID } from 'node:crypto'

export interface FormFile {
  /** The name of the form field. */
  name: string
  filename: string
  contentType: string
  content: Buffer
}

/** A form with a file (RFC 7578). The file's bytes are not copied. */
export function multipartForm(
  fields: Record<string, string>,
  { name, filename, contentType, content }: FormFile,
): { contentType: string; body: Buffer[] } {
  const boundary = randomUUID()
  const parts = Object.entries(fields).map(
    ([field, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${quotable(field)}"\r\n\r\n${value}\r\n`,
  )
  const head =
    `--${boundary}\r\n` +
    `content-disposition: form-data; name="${quotable(name)}"; filename="${quotable(filename)}"\r\n` +
    `content-type: ${contentType}\r\n\r\n`
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: [Buffer.from(parts.join('') + head), content, Buffer.from(`\r\n--${boundary}--\r\n`)],
  }
}

/** Escapes a name as browsers do (https://html.spec.whatwg.org/#multipart-form-data). */
function quotable(name: string): string {
  return name.replace(/["\r\n]/g, encodeURIComponent)
}

/** A form without files; a name may repeat. */
export function multipartFields(fields: readonly (readonly [string, string])[]): {
  contentType: string
  body: Buffer
} {
  const boundary = randomUUID()
  const parts = fields.map(
    ([name, value]) =>
      `--${boundary}\r\ncontent-disposition: form-data; name="${quotable(name)}"\r\n\r\n${value}\r\n`,
  )
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: Buffer.from(`${parts.join('')}--${boundary}--\r\n`),
  }
}
