import { createHmac, timingSafeEqual } from 'node:crypto'
import { hourMs } from '../durations.ts'

/**
 * How long a provider can fetch the media. It fetches after accepting the message, so the media is kept at least this long
 * after the end of its send (db/upkeep/retention.ts).
 */
export const mediaLinkMs = hourMs

/**
 * A signed, expiring link to the media of one send, for providers that only take links. The token is
 * `<requestId>.<expiry, seconds since 1970>.<signature>`.
 */
export function mintMediaLink(
  publicBaseUrl: string,
  requestId: string,
  expiresAt: Date,
  key: Buffer,
): string {
  const payload = `${requestId}.${Math.floor(expiresAt.getTime() / 1000)}`
  return `${publicBaseUrl.replace(/\/+$/, '')}/media/${payload}.${sign(payload, key)}`
}

/**
 * The requestId of a token; undefined if the token was altered or has expired.
 *
 * @param keys the keys that may have signed it.
 */
export function readMediaToken(token: string, keys: readonly Buffer[], now: Date): string | undefined {
  const [requestId = '', expiry = '', signature = '', ...more] = token.split('.')
  const given = Buffer.from(signature)
  const isSigned = keys.some((key) => {
    const good = Buffer.from(sign(`${requestId}.${expiry}`, key))
    return given.length === good.length && timingSafeEqual(given, good)
  })
  if (more.length > 0 || !isSigned) return undefined
  return Number(expiry) * 1000 > now.getTime() ? requestId : undefined
}

function sign(payload: string, key: Buffer): string {
  return createHmac('sha256', key).update(`media-link:${payload}`).digest('base64url')
}
