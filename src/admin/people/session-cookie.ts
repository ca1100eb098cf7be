import { createHash, randomBytes } from 'node:crypto'
import type { Context } from 'hono'
import { deleteCookie, getCookie, setCookie } from 'hono/cookie'
import { sessionHours } from '../../../db/people/sessions.ts'
import { isFromProxy } from '../../platform/client-address.ts'
import type { AdminSettings } from '../../platform/settings.ts'
import type { AdminEnv } from '../context.ts'

const name = 'outbound_session'
const attributes = { path: '/', httpOnly: true, sameSite: 'Strict' } as const

/** What is stored of a session's token, so that a dump of PostgreSQL opens no session. */
const hashOf = (token: string) => createHash('sha256').update(token).digest()

export function sessionHashOf(c: Context<AdminEnv>): Buffer | undefined {
  const token = getCookie(c, name)
  return token === undefined ? undefined : hashOf(token)
}

export function newToken(): { token: string; tokenHash: Buffer } {
  const token = randomBytes(32).toString('base64url')
  return { token, tokenHash: hashOf(token) }
}

/** By https alone, if the browser's request came so: this process itself speaks http, and only a trusted proxy can tell. */
export function setSessionCookie(
  c: Context<AdminEnv>,
  token: string,
  settings: Pick<AdminSettings, 'TRUST_PROXY'>,
) {
  const { incoming } = c.env
  const scheme = c.req.header('X-Forwarded-Proto')?.split(',')[0]?.trim().toLowerCase()
  const secure = scheme === 'https' && isFromProxy(incoming, settings)
  setCookie(c, name, token, { ...attributes, secure, maxAge: sessionHours * 3600 })
}

export function deleteSessionCookie(c: Context<AdminEnv>): void {
  deleteCookie(c, name, attributes)
}
