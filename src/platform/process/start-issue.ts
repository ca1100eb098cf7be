import { connectionFault, databaseCause } from '../../../db/connection/database-cause.ts'
import { causeLine } from '../../core/store-causes.ts'
import { ListenFault } from '../http/listen-at.ts'
import { safeError } from '../log/safe-error.ts'
import { SettingsError } from '../settings/settings.ts'

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
  const cause = databaseCause(error)
  // The error of a host with several addresses has no message.
  return cause ? `${causeLine(cause)} (${message || code})` : `${message}\n${stack}`
}
