const base64 = /^[A-Za-z0-9+/]*={0,2}$/
const dataUrl = /^data:([\w!#$&^.+-]+\/[\w!#$&^.+-]+)?(?:;[\w!#$&^.+-]+=[^,;]*)*(;base64)?,/
const longestDataUrlHead = 1024

export type Decoded = { content: Buffer; mimetype: string | undefined } | { fault: string }

/** Decodes the `base64` field: standard alphabet, line breaks ignored, padding optional, or all of that in a `data:` URL. */
export function decodeBase64(value: string, maxBytes: number): Decoded {
  const url = value.startsWith('data:') ? dataUrl.exec(value.slice(0, longestDataUrlHead)) : undefined
  if (url === null || (url && !url[2]))
    return { fault: 'a data: URL has to be of the form data:<type>;base64,<content>' }
  // Line breaks go first: a pattern that allowed them would take quadratic time on a text of nothing else.
  const encoded = (url ? value.slice(url[0].length) : value).replace(/[\r\n]+/g, '')
  if (!base64.test(encoded)) return { fault: 'not base64 (standard alphabet, line breaks allowed)' }
  const digits = encoded.endsWith('=') ? encoded.indexOf('=') : encoded.length
  if (digits === 0) return { fault: 'is empty' }
  const isPadded = digits < encoded.length
  if (digits % 4 === 1 || (isPadded && encoded.length % 4 !== 0))
    return { fault: 'not base64 (cut off, or a character too many)' }
  if (Math.floor((digits * 3) / 4) > maxBytes) return { fault: `more than ${maxBytes} bytes when decoded` }
  return { content: Buffer.from(encoded, 'base64'), mimetype: url?.[1] || undefined }
}
