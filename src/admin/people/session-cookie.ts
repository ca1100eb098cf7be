import { createHash, randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { sessionHours } from '../../../db/people/sessions.ts'
import { type AdminEnv, isOverTls } from '../context.ts'

const name = 'outbound_session'

/** Over TLS the name begins with `__Host-`: no other host of the domain, and no page without TLS, can set such a cookie. */
const attributes = (c: Context<AdminEnv>) => {
  const common = { path: '/', httpOnly: true, sameSite: 'Strict' } as const
  return isOverTls(c) ? ({ ...common, secure: true, prefix: 'host' } as const) : common
}

/** The stored form of a session's token: a hash, so that a dump of PostgreSQL opens no session. */
const hashOf = (token: string) => createHash('sha256').update(token).digest()

export function sessionHashOf(c: Context<AdminEnv>): Buffer | undefined {
  const token = isOverTls(c) ? getCookie(c, name, 'host') : getCookie(c, name)
  return token === undefined ? undefined : hashOf(token)
}

export function newToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('base64url')
  return { token, tokenHash: hashOf(token) }
}

export function setSessionCookie(c: Context<AdminEnv>, token: string): void {
  setCookie(c, name, token, { ...attributes(c), maxAge: sessionHours * 3600 })
}

export function deleteSessionCookie(c: Context<AdminEnv>): void {
  deleteCookie(c, name, attributes(c))
}
