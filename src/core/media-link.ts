import { createHmac, timingSafeEqual } from 'node:crypto'

/**
 * How long a provider can fetch the media. It does so after it has taken the message, so that the media is kept for as
 * long after the end of its send (db/support/retention.ts).
 */
export const mediaLinkMs = 3_600_000

/**
 * A link to the media of one send, for providers that only take links: signed, so that nobody can make one up, and
 * expiring. The token is `<requestId>.<expiry, seconds since 1970>.<signature>`.
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
 * The send whose media the token is for; undefined where it was altered or has expired.
 *
 * @param keys any of them may have signed it.
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
