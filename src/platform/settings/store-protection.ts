import { type Protection, protectionOfDatabase } from '../../../db/connection/connection-string.ts'
import { isLoopback } from '../../core/requests/public-address.ts'
import type { Logger } from '../log/logger.ts'
import { parseRedisUrl, type RedisAddress } from '../redis/address.ts'
import type { Variables } from './environment.ts'

interface StoreSettings {
  DATABASE_URL: string
  DATABASE_REQUIRE_TLS?: boolean | undefined
  REDIS_URL: RedisAddress
  REDIS_REQUIRE_TLS?: boolean | undefined
}

const advice = {
  DATABASE: 'sslmode=verify-full and a password',
  REDIS: 'rediss:// and a password',
}

/** The issues of stores without TLS where it is required. A URL that can't be read is an issue of its own. */
export function tlsIssues(names: readonly string[], set: Variables): string[] {
  const issues: string[] = []
  const isRequired = (store: keyof typeof advice) =>
    names.includes(`${store}_URL`) && set[`${store}_REQUIRE_TLS`] === 'true'
  if (isRequired('DATABASE') && protectionOfDatabase(set.DATABASE_URL ?? '')?.hasTls === false)
    issues.push(
      'DATABASE_URL has no TLS, which DATABASE_REQUIRE_TLS requires; add sslmode=verify-full, or unset DATABASE_REQUIRE_TLS',
    )
  if (isRequired('REDIS') && !hasTlsOrIssue(set.REDIS_URL ?? ''))
    issues.push(
      'REDIS_URL has no TLS, which REDIS_REQUIRE_TLS requires; let it begin with rediss, or unset REDIS_REQUIRE_TLS',
    )
  return issues
}

function hasTlsOrIssue(url: string): boolean {
  try {
    return protectionOfRedis(parseRedisUrl(url)).hasTls
  } catch {
    return true
  }
}

/** Logs which stores on other hosts anybody in between could read, or anybody in the network use. */
export function warnOfOpenStores(log: Logger, settings: StoreSettings): void {
  const { DATABASE_URL, REDIS_URL, DATABASE_REQUIRE_TLS, REDIS_REQUIRE_TLS } = settings
  const stores = [
    ['DATABASE', protectionOfDatabase(DATABASE_URL), DATABASE_REQUIRE_TLS],
    ['REDIS', protectionOfRedis(REDIS_URL), REDIS_REQUIRE_TLS],
  ] as const
  for (const [store, protection, required] of stores) {
    const lacks = required === undefined && protection ? lackOf(protection) : ''
    if (lacks === '') continue
    const reason = `${store}_URL leads to another host, without ${lacks}`
    const check = `${store}_URL: ${advice[store]}. If nobody else is in the network, set ${store}_REQUIRE_TLS=false`
    log.warn({ event: 'store_open', reason, check })
  }
}

function lackOf({ isRemote, hasTls, hasLogin }: Protection): string {
  if (!isRemote) return ''
  return [!hasTls && 'TLS', !hasLogin && 'password'].filter(Boolean).join(' and ')
}

function protectionOfRedis(address: RedisAddress): Protection {
  if (address.kind === 'single') {
    const { protocol, hostname, password } = new URL(address.url)
    return {
      isRemote: !isLoopback(hostname),
      hasTls: protocol === 'rediss:',
      hasLogin: password !== '',
    }
  }
  const nodes = address.kind === 'cluster' ? address.nodes : address.sentinels
  return {
    isRemote: nodes.some(({ host }) => !isLoopback(host)),
    hasTls: address.hasTls,
    hasLogin: address.login.password !== undefined,
  }
}
