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

/** A form whose fields may be files; a name may repeat. The bytes of files are not copied. */
export function multipartFields(fields: readonly (readonly [string, string | Omit<FormFile, 'name'>])[]): {
  contentType: string
  body: Buffer[]
} {
  const boundary = randomUUID()
  const parts = fields.flatMap(([name, value]) => {
    const head = `--${boundary}\r\ncontent-disposition: form-data; name="${quotable(name)}"`
    if (typeof value === 'string') return [Buffer.from(`${head}\r\n\r\n${value}\r\n`)]
    const { filename, contentType, content } = value
    const headOfFile = `${head}; filename="${quotable(filename)}"\r\ncontent-type: ${contentType}\r\n\r\n`
    return [Buffer.from(headOfFile), content, Buffer.from('\r\n')]
  })
  return {
    contentType: `multipart/form-data; boundary=${boundary}`,
    body: [...parts, Buffer.from(`--${boundary}--\r\n`)],
  }
}
