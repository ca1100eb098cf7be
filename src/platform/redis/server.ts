import type { Redis } from 'ioredis'
import { redisCauses } from '../../core/store-causes.ts'
import { causeFields } from '../log/cause-fields.ts'
import { type Logger, logWarning } from '../log/logger.ts'
import type { Metrics } from '../metrics.ts'
import { showEviction } from './eviction.ts'
import { setRefusal } from './refusal.ts'

/** The oldest that the tests are run with: that of Debian 12. */
const oldestRedis = '7.0'

const policyLine = /^maxmemory_policy:.*\r\n/m
const isLogged = new WeakSet<Pick<Metrics, 'redisEvicts'>>()

/** Why this version can't be used: one line that names the setting to change; undefined if it can. */
export function versionIssue(info: string): string | undefined {
  const version = fieldOf(info, 'redis_version')
  if (version === undefined || !isOlder(version, oldestRedis)) return undefined
  return `REDIS_URL: Redis ${version} is too old; use Redis ${oldestRedis} or newer`
}

/** Checks the version and the eviction of Redis at each connect. Eviction is logged once a process. */
export function checkServer(
  redis: Redis,
  { name, log, metrics }: { name: string; log: Logger; metrics: Pick<Metrics, 'redisEvicts'> },
): void {
  redis.on('ready', async () => {
    // A section is named, because `hidePolicyFromBullMQ` leaves such a request as it is.
    const info = await redis.info('default').catch(() => '')
    const issue = versionIssue(info)
    if (issue !== undefined) {
      setRefusal(redis, `${issue}.`)
      logWarning(log, 'redis_too_old', new Error(issue), causeFields(redisCauses.too_old))
    }
    const policy = showEviction(info, name, metrics)
    if (policy === undefined || isLogged.has(metrics)) return
    isLogged.add(metrics)
    const reason = `maxmemory-policy is ${policy}: set it to noeviction, or Redis may drop wake-ups and counts`
    logWarning(log, 'redis_evicts', new Error(reason), { policy, ...causeFields(redisCauses.evicts) })
  })
}

/** Hides the eviction policy from BullMQ, which would write a line to stderr for each of its connections. */
export function hidePolicyFromBullMQ(redis: Redis): void {
  const info = redis.info.bind(redis) as (...args: unknown[]) => Promise<string>
  // BullMQ asks without arguments; ioredis itself, at each connect, with a callback.
  redis.info = (async (...args: unknown[]) =>
    args.length > 0 ? info(...args) : (await info()).replace(policyLine, '')) as Redis['info']
}

const fieldOf = (info: string, name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]

function isOlder(version: string, than: string): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [oldestMajor = 0, oldestMinor = 0] = than.split('.').map(Number)
  return major < oldestMajor || (major === oldestMajor && minor < oldestMinor)
}
