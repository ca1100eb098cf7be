import { CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm'
import { isUnavailable } from '../../db/errors.ts'
import { settingIssue } from '../platform/start-issue.ts'

/** An error as one line that says what to do, without secrets. */
export function oneLine(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof CommanderError && error.code === 'commander.help')
    return 'Give a command; see: outbound --help'
  const { message } = error instanceof DrizzleQueryError ? (error.cause ?? error) : error
  if (/relation .* does not exist/.test(message))
    return 'The database has no schema yet; run: npm run migrate'
  if (/(database|role) .* does not exist|authentication failed/.test(message))
    return `${message}; check DATABASE_URL`
  const issue = settingIssue(error)
  if (issue === undefined && isUnavailable(error))
    return 'PostgreSQL does not answer; check DATABASE_URL and that it runs'
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
