import { connectionFault } from '../../db/connection-faults.ts'
import { isUnavailable } from '../../db/errors.ts'
import { ListenFault } from './listen-at.ts'
import { safeError } from './safe-error.ts'
import { SettingsError } from './settings.ts'

/** The message that names the setting at fault; undefined where no setting is. */
export function settingFault(error: unknown): string | undefined {
  if (error instanceof SettingsError || error instanceof ListenFault) return error.message
  return connectionFault(error)
}

/** What a process that can't start prints on stderr: one line that names the setting where one is at fault. */
export function startFault(error: unknown): string {
  const fault = settingFault(error)
  if (fault !== undefined) return fault
  const { message, code, stack } = safeError(error)
  return isUnavailable(error)
    ? // A host with several addresses, none of which answers, fails without a message.
      `${message || code}: check DATABASE_URL, and that PostgreSQL runs`
    : `${message}\n${stack}`
}
