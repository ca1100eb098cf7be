import { createHash, timingSafeEqual } from 'node:crypto'
import { csrf } from 'hono/csrf'
import { auth } from 'hono/utils/basic-auth'
import { LRUCache } from 'lru-cache'
import { isLoopback } from '../core/public-address.ts'
import { subscriber } from '../core/subscriber.ts'
import { type AdminRuntime, factory } from './context.ts'
import { PageError } from './errors.tsx'

const user = 'admin'
const failuresAllowed = 10
const failureWindowMs = 60_000
const addressesCounted = 10_000

/** Forms come from these pages alone: a POST that another site's page sends is refused. */
export const refuseForeignForms = csrf()

/**
 * Without a password only this machine may ask, by a name that is always its own: under another name, another site's
 * page that a browser here has open could have had itself resolved to loopback (DNS rebinding).
 */
export function checkHost({ settings }: AdminRuntime) {
  return factory.createMiddleware(async (c, next) => {
    if (settings.ADMIN_PASSWORD === undefined && !isLoopback(new URL(c.req.url).hostname)) {
      throw new PageError(403, 'Without ADMIN_PASSWORD these pages answer to localhost and 127.0.0.1 only.')
    }
    await next()
  })
}

/**
 * HTTP basic, where there is a password. An address that keeps failing is refused for a while whatever it sends:
 * else its next guess could be the right one.
 */
export function authenticate({ settings }: AdminRuntime) {
  const password = settings.ADMIN_PASSWORD
  const failures = new LRUCache<string, number>({
    max: addressesCounted,
    ttl: failureWindowMs,
    noUpdateTTL: true,
  })
  return factory.createMiddleware(async (c, next) => {
    if (password === undefined) return next()
    const from = subscriber(c.env.incoming.socket.remoteAddress ?? 'unknown')
    const failed = failures.get(from) ?? 0
    if (failed >= failuresAllowed) {
      const retryAfter = String(Math.ceil(failures.getRemainingTTL(from) / 1000))
      throw new PageError(429, 'Too many wrong passwords from this address. Wait a minute.', {
        'Retry-After': retryAfter,
      })
    }
    const given = auth(c.req.raw)
    const isRight = given !== undefined && isSame(given.username, user) && isSame(given.password, password)
    if (isRight) return next()
    // A browser's first request has none, and is no guess.
    if (c.req.header('Authorization') !== undefined) failures.set(from, failed + 1)
    throw new PageError(401, `Sign in as ${user} with the password that ADMIN_PASSWORD says.`, {
      'WWW-Authenticate': 'Basic realm="Outbound messages", charset="UTF-8"',
    })
  })
}

function isSame(given: string, right: string): boolean {
  return timingSafeEqual(hash(given), hash(right))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
