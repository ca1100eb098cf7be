import { createSign, randomUUID } from 'node:crypto'
import type { VonageConfig } from './config.ts'

const validSeconds = 900
/** A token is used for less than it is valid, because clocks differ. */
const usedMs = 600_000

/** A signature costs a millisecond, so a channel's token is used for ten minutes. */
const made = new WeakMap<VonageConfig, { token: string; until: number }>()

/**
 * The token of an application (RFC 7519), as Vonage wants it:
 * https://developer.vonage.com/en/getting-started/concepts/authentication.
 *
 * @param nowMs by PostgreSQL's clock, because Vonage refuses a token of another time.
 */
export function tokenOf(config: VonageConfig, nowMs: number): string {
  const known = made.get(config)
  if (known && nowMs < known.until) return known.token
  const token = signedToken(config, Math.floor(nowMs / 1000))
  made.set(config, { token, until: nowMs + usedMs })
  return token
}

function signedToken({ applicationId, privateKey = '' }: VonageConfig, now: number): string {
  const claims = { application_id: applicationId, jti: randomUUID(), iat: now, exp: now + validSeconds }
  const signed = [{ typ: 'JWT', alg: 'RS256' }, claims]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  return `${signed}.${createSign('RSA-SHA256').update(signed).sign(privateKey, 'base64url')}`
}
