import { connectionFault } from '../../db/connection-faults.ts'
import { isUnavailable } from '../../db/errors.ts'
import { ListenFault } from './listen-at.ts'
import { safeError } from './safe-error.ts'
import { SettingsError } from './settings.ts'

/** The message that names the setting at fault; undefined if no setting is. */
export function settingIssue(error: unknown): string | undefined {
  if (error instanceof SettingsError || error instanceof ListenFault) return error.message
  return connectionFault(error)
}

/** The text that a process prints on stderr if it can't start: one line if a setting or PostgreSQL is at fault. */
export function startIssue(error: unknown): string {
  const issue = settingIssue(error)
  if (issue !== undefined) return issue
  const { message, code, stack } = safeError(error)
  return isUnavailable(error)
    ? // The error of a host with several addresses has no message.
      `${message || code}: check DATABASE_URL, and that PostgreSQL runs`
    : `${message}\n${stack}`
}
