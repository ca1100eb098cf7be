import { isCertificateFault, isForOtherHost, isOutdated, isTooEarly } from '../../db/connection-faults.ts'
import { refusesCommand, refusesDatabase, refusesLogin } from './redis-refusal.ts'

/** The setting to check when Redis can't be reached: the log line's `check` field. */
export function redisAdvice(error: Error): string {
  if (isForOtherHost(error)) return 'REDIS_URL: its host has to be the name that the certificate is for'
  if (isOutdated(error)) return "Redis's certificate, which has expired: renew it"
  if (isTooEarly(error))
    return "this machine's clock: Redis's certificate is not valid yet; wait until it is, if the clock is right"
  if (refusesCommand(error))
    return 'the rights of the user in REDIS_URL: it needs all commands and keys (ACL SETUSER … +@all ~*)'
  if (refusesDatabase(error))
    return 'REDIS_URL: the number of its database (`databases` in redis.conf says how many there are)'
  if (refusesLogin(error)) return 'REDIS_URL: its user name and password'
  return isCertificateFault(error)
    ? 'NODE_EXTRA_CA_CERTS: set it to a file with the certificate of the CA that signed that of Redis'
    : 'REDIS_URL, and that Redis runs'
}
