import type { IncomingHttpHeaders } from 'node:http'
import { ApiError } from '../errors.ts'

const token = "[\\w!#$%&'*+.^`|~-]+"
const parameter = String.raw`(${token})=(${token}|"(?:[^"\\]|\\.)*")`
/** As in RFC 9110, section 8.3: a parameter may be missing after its semicolon. */
const jsonType = new RegExp(String.raw`^application/json(?:[ \t]*;(?:[ \t]*${parameter})?)*[ \t]*$`, 'i')
const parameters = new RegExp(parameter, 'g')
const charsetName = /^[\w.:+-]{1,40}$/

export const otherType = () =>
  new ApiError('unsupported_content_type', 'Content-Type: has to be application/json, in UTF-8')

export const encoded = () =>
  new ApiError('unsupported_content_type', 'Content-Encoding: send the body without one')

/** @throws ApiError 400 if the body isn't declared as JSON in UTF-8. */
export function refuseOtherType(contentType: string | undefined): void {
  if (contentType === 'application/json') return
  if (contentType === undefined || !jsonType.test(contentType)) throw otherType()
  for (const [, name = '', value = ''] of contentType.matchAll(parameters)) {
    const charset = value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value
    if (name.toLowerCase() === 'charset' && !/^utf-?8$/i.test(charset)) throw otherCharset(charset)
  }
}

function otherCharset(charset: string): ApiError {
  const issue = 'Content-Type: the charset has to be UTF-8'
  const named = charsetName.test(charset) ? charset : 'another one'
  return new ApiError('unsupported_content_type', `${issue}, and is ${named}`, {}, issue)
}

/** @throws ApiError 400 if the body is compressed, in its content or on its way. `identity` is no encoding. */
export function refuseEncoded(headers: IncomingHttpHeaders): void {
  const { 'content-encoding': encoding, 'transfer-encoding': transfer } = headers
  if (encoding !== undefined && !/^identity$/i.test(encoding)) throw encoded()
  if (transfer !== undefined && !/^chunked$/i.test(transfer))
    throw new ApiError('unsupported_content_type', 'Transfer-Encoding: has to be chunked, or absent')
}
