import { createHash, timingSafeEqual } from 'node:crypto'
import type { Context } from 'hono'
import { auth } from 'hono/utils/basic-auth'
import { LRUCache } from 'lru-cache'
import { builtIn } from '../../core/accounts/person.ts'
import { subscriber } from '../../core/accounts/subscriber.ts'
import { isLoopback } from '../../core/requests/public-address.ts'
import { createReadClientAddress } from '../../platform/http/client-address.ts'
import { type AdminEnv, type AdminRuntime, factory } from '../context.ts'
import { PageError } from '../errors.tsx'

const failuresAllowed = 10
const failureWindowMs = 60_000
const addressesCounted = 10_000

export type PasswordCheck = (c: Context<AdminEnv>) => void

/**
 * Creates the check of ADMIN_PASSWORD, by HTTP basic authentication.
 *
 * Without a password, only requests to a loopback host name are answered. Under any other name, a page of another site, open
 * in a browser on this machine, could reach these pages by DNS rebinding.
 *
 * After too many wrong passwords an address is refused for a minute, even with the right one: otherwise it could go on guessing.
 */
export function passwordCheck({ settings }: AdminRuntime): PasswordCheck {
  const password = settings.ADMIN_PASSWORD
  if (password === undefined) return checkHost
  const clientAddress = createReadClientAddress({ settings })
  const failures = new LRUCache<string, number>({
    max: addressesCounted,
    ttl: failureWindowMs,
    noUpdateTTL: true,
  })
  return (c) => {
    const from = subscriber(clientAddress(c.env.incoming))
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
    if (isRight) return
    // A browser's first request has no credentials, so it doesn't count as a wrong password.
    if (c.req.header('Authorization') !== undefined) failures.set(from, failed + 1)
    throw new PageError(401, `Sign in as ${builtIn.name}, with the password set in ADMIN_PASSWORD.`, {
      'WWW-Authenticate': 'Basic realm="Outbound messages", charset="UTF-8"',
    })
  }
}

function checkHost(c: Context<AdminEnv>): void {
  if (isLoopback(new URL(c.req.url).hostname)) return
  throw new PageError(403, 'Without ADMIN_PASSWORD these pages answer to localhost and 127.0.0.1 only.')
}

/** Authenticates Prometheus by ADMIN_PASSWORD, whether there are people or not. It reads no table. */
export function allowScrape(check: PasswordCheck) {
  return factory.createMiddleware(async (c, next) => {
    check(c)
    await next()
  })
}

function isSame(given: string, right: string): boolean {
  return timingSafeEqual(hash(given), hash(right))
}

function hash(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
