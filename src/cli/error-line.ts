import { CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm'
import { databaseCause } from '../../db/database-cause.ts'
import { lacksMigration } from '../../db/errors.ts'
import { causeLine, postgresCauses } from '../core/store-causes.ts'
import { settingIssue } from '../platform/start-issue.ts'

/** An error as one line that says what to do, without secrets. */
export function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CommanderError && error.code === 'commander.help')
    return 'Give a command; see: outbound --help'
  const { message } = error instanceof DrizzleQueryError ? (error.cause ?? error) : error
  const issue = settingIssue(error) ?? storeIssue(error)
  return (
    (issue ?? message)
      .replace(/^error: /, '')
      // The value of a mistyped option may be a credential.
      .replace(/^(unknown option '[^=']*)=.*'/s, "$1'")
      // A key may have been given in place of an id.
      .replaceAll(/omk_[0-9A-Za-z]+/g, 'omk_…')
      .replaceAll(/:\s*\n\s*/g, ': ')
      .replaceAll(/\s*\n\s*/g, '; ')
      // A pasted argument may contain control characters that a terminal would obey.
      .replaceAll(/\p{Cc}+/gu, ' ')
  )
}

function storeIssue(error: unknown): string | undefined {
  const cause = lacksMigration(error) ? postgresCauses.not_migrated : databaseCause(error)
  return cause && causeLine(cause)
}
