import { hostname, userInfo } from 'node:os'
import type { Actor } from '../core/accounts/actor.ts'

/** Who runs a command, for the audit. @param name given by `--as`; default: the system user. */
export const operator = (name = systemUser()): Actor => ({ by: name, via: 'cli', address: hostname() })

/** In a container, a user may have no name. */
function systemUser(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.()}`
  }
}
