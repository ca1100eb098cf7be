import { hash } from 'node:crypto'
import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { type Caller, findCallers } from '../../../db/accounts/api-keys.ts'
import { hashApiKey, type Permission, wasMintedHere } from '../../core/accounts/api-key.ts'
import { subscriber } from '../../core/accounts/subscriber.ts'
import { createReadClientAddress } from '../../platform/http/client-address.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import { type Count, sharedLimiters } from '../../platform/redis/shared-limiter.ts'
import type { Needs } from '../../runtime.ts'
import { type ApiEnv, factory } from '../context.ts'
import { ApiError } from '../errors.ts'
import { cacheTtlMs } from './cache-ttl.ts'
import { KeyUses } from './key-uses.ts'

const bearer = /^Bearer +([^ ]+)$/i
/** Precision of the TTL: the cache reads the clock once in this time. */
const ttlResolutionMs = 50
const cachedKeys = 10_000
const maxKeysPerLookup = 200
const failureWindowSeconds = 60

export const unauthorized = () =>
  new ApiError('invalid_api_key', 'Send a valid API key as "Authorization: Bearer <API_KEY>".', {
    'WWW-Authenticate': 'Bearer',
  })

export const tooManyFaultyKeys = (resetSeconds: number) =>
  new ApiError(
    'too_many_failures',
    'Too many requests with an invalid API key from this address. Wait before you try again.',
    {
      'Retry-After': String(resetSeconds),
    },
  )

export const forbidden = (...permissions: Permission[]) =>
  new ApiError('missing_permission', `This API key lacks the permission ${permissions.join(' or ')}.`)

export type Refusing = Needs<'shards' | 'metrics', 'AUTH_FAILURE_LIMIT' | 'TRUST_PROXY'>

/** Identifies the caller by the API key (docs/reference/api.md#keys). Answers 401, or 429 to an address whose keys keep failing. */
export function createAuthenticate(runtime: Refusing & Needs<'db', 'API_KEY_PEPPER'>) {
  const { settings, db } = runtime
  const lookups = new MicroBatch<string, Caller | undefined>({
    maxItems: maxKeysPerLookup,
    mayOverlap: true,
    flush: async (hashes) => {
      const callers = await findCallers(db, hashes)
      return hashes.map((hash) => callers.get(hash))
    },
  })
  /** Keyed by a hash, so that no API key stays in memory. Only for keys minted here, so that an attacker can't fill it. */
  const callers = new LRUCache<string, Caller | 'unknown'>({
    max: cachedKeys,
    ttl: cacheTtlMs,
    ttlResolution: ttlResolutionMs,
  })
  const uses = new KeyUses(db)
  const lookUp = async (apiKey: string): Promise<Caller | 'unknown'> => {
    const keyedHash = hashApiKey(apiKey, settings.API_KEY_PEPPER).toString('hex')
    const caller = (await lookups.add(keyedHash)) ?? 'unknown'
    callers.set(cacheKeyOf(apiKey), caller, { ttl: cachedForMs(caller) })
    if (caller !== 'unknown' && caller.isUseDue) uses.add(caller.keyId)
    return caller
  }
  const refuse = createRefuse(runtime)

  return factory.createMiddleware(async (c, next) => {
    const apiKey = bearerOf(c)
    let caller = callers.get(cacheKeyOf(apiKey))
    if (!caller && wasMintedHere(apiKey, settings.API_KEY_PEPPER)) {
      caller = await c.get('deadline').spend(lookUp(apiKey))
    }
    if (!caller || caller === 'unknown') return refuse(c)
    c.set('caller', caller)
    await next()
  })
}

/** The key that the request has, valid or not; empty if it has none. */
export const bearerOf = (c: Context<ApiEnv>): string =>
  bearer.exec(c.env.incoming.headers.authorization ?? '')?.[1] ?? ''

/** Cheaper than the keyed hash in the database, and safe, since a key has too many random bits to be guessed from its hash. */
const cacheKeyOf = (apiKey: string) => hash('sha256', apiKey, 'base64')

/** Answers 403 unless the key has one of the permissions. */
export function authorize(...permissions: Permission[]) {
  return factory.createMiddleware((c, next) => {
    const { permissions: given } = c.get('caller')
    if (permissions.some((permission) => given.includes(permission))) return next()
    throw forbidden(...permissions)
  })
}

/** How long to cache a caller: not beyond the key's expiry. At least 1, because a TTL of 0 means no end. */
function cachedForMs(caller: Caller | 'unknown'): number {
  const expiresInMs = caller === 'unknown' ? null : caller.expiresInMs
  return Math.max(1, Math.min(cacheTtlMs, Math.floor(expiresInMs ?? cacheTtlMs)))
}

function createRefuse(runtime: Refusing) {
  const countFailure = createCountFailure(runtime)
  return async (c: Context<ApiEnv>): Promise<never> => {
    runtime.metrics.authFailures.inc()
    const { isOver, resetSeconds } = await countFailure(c)
    throw isOver ? tooManyFaultyKeys(resetSeconds) : unauthorized()
  }
}

/**
 * Counts failed keys and signatures of an address. Failures only, so that a valid key is never refused for other clients' failures
 * from the same address.
 */
export function createCountFailure(runtime: Refusing) {
  const clientAddress = createReadClientAddress(runtime)
  const limit = { points: runtime.settings.AUTH_FAILURE_LIMIT, seconds: failureWindowSeconds }
  const failures = sharedLimiters(runtime)('auth-failures', limit)
  return async (c: Context<ApiEnv>): Promise<Count> => {
    const count = await c.var.deadline.spend(failures.useUp(subscriber(clientAddress(c.env.incoming))))
    if (count.isOver) runtime.metrics.rateLimited.inc({ limit: 'address' })
    return count
  }
}
