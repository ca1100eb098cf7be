import { createHash, timingSafeEqual } from 'node:crypto'
import { csrf } from 'hono/csrf'
import { auth } from 'hono/utils/basic-auth'
import { LRUCache } from 'lru-cache'
import { builtIn } from '../core/person.ts'
import { isLoopback } from '../core/public-address.ts'
import { subscriber } from '../core/subscriber.ts'
import { type AdminRuntime, factory } from './context.ts'
import { PageError } from './errors.tsx'
import { refusalRecorder } from './people/refusals.ts'

const failuresAllowed = 10
const failureWindowMs = 60_000
const addressesCounted = 10_000

/** Refuses a form that a page of another site submits. */
export const refuseForeignForms = csrf()

/**
 * Without a password, only requests to a loopback host name are answered. With any other name, a page of another site, open
 * in a browser on this machine, could reach these pages by DNS rebinding.
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
 * HTTP basic authentication, if a password is set. After too many wrong passwords an address is refused for a minute, even
 * with the right one: otherwise it could go on guessing.
 */
export function authenticate({ settings, db }: AdminRuntime) {
  const password = settings.ADMIN_PASSWORD
  const recordRefusal = refusalRecorder({ db })
  const failures = new LRUCache<string, number>({
    max: addressesCounted,
    ttl: failureWindowMs,
    noUpdateTTL: true,
  })
  return factory.createMiddleware(async (c, next) => {
    c.set('person', builtIn)
    c.set('recordRefusal', () => recordRefusal(c))
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
    const isRight =
      given !== undefined && isSame(given.username, builtIn.name) && isSame(given.password, password)
    if (isRight) return next()
    // A browser's first request has no credentials, so it doesn't count as a wrong password.
    if (c.req.header('Authorization') !== undefined) failures.set(from, failed + 1)
    throw new PageError(401, `Sign in as ${builtIn.name}, with the password set in ADMIN_PASSWORD.`, {
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
