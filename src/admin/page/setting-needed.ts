import type { AdminSettings } from '../../platform/settings/settings.ts'
import { PageError } from '../errors.tsx'

/** A setting that the admin process has only where the console sets up accounts. @throws PageError if it isn't set. */
export function settingNeeded<Name extends 'API_KEY_PEPPER' | 'CREDENTIALS_KEY'>(
  settings: AdminSettings,
  name: Name,
): NonNullable<AdminSettings[Name]> {
  const value = settings[name]
  if (value !== undefined) return value as NonNullable<AdminSettings[Name]>
  throw new PageError(
    503,
    `Set ${name} for the admin process, to the value that API and workers have, and start it again. Until then, use the command line.`,
  )
}
