import { CommanderError } from 'commander'
import { DrizzleQueryError } from 'drizzle-orm'
import { databaseCause } from '../../db/connection/database-cause.ts'
import { lacksMigration } from '../../db/connection/errors.ts'
import { causeLine, postgresCauses, type StoreCause } from '../core/store-causes.ts'
import { settingIssue } from '../platform/process/start-issue.ts'
import { SetupFault } from '../setup/setup-fault.ts'
import { CliError } from './answer.ts'
import type { FailureCode } from './exit-codes.ts'

/** Why a command failed, as `--json` prints it. */
export interface Failure {
  code: FailureCode
  /** One line that says what to do, without secrets. */
  message: string
  /** Why PostgreSQL can't be used: docs/reference/store-causes.md. */
  cause?: string
}

export function failureOf(error: unknown): Failure {
  const store = storeCause(error)
  const setting = settingIssue(error)
  const message = oneLine(setting ?? (store ? causeLine(store) : messageOf(error)))
  if (store) return { code: 'store_away', message, cause: store.cause }
  if (error instanceof CliError) return { code: error.code, message }
  const isUsage = setting !== undefined || error instanceof CommanderError || error instanceof SetupFault
  return { code: isUsage ? 'usage' : 'failed', message }
}

function storeCause(error: unknown): StoreCause | undefined {
  return lacksMigration(error) ? postgresCauses.not_migrated : databaseCause(error)
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  if (error instanceof SetupFault) return optionIssue(error)
  if (error instanceof CommanderError && error.code === 'commander.help')
    return 'Give a command; see: outbound --help'
  return (error instanceof DrizzleQueryError ? (error.cause ?? error) : error).message
}

/** Names the option of what can't be set up. */
function optionIssue({ field, message }: SetupFault): string {
  switch (field) {
    case 'fallback':
      return `Fix --fallback: ${message}; see: outbound channel list --account ID`
    case 'noFallback':
      return `${message}: name one with --fallback CHANNEL`
    case 'quietHours':
      return `${message}: give --quiet-hours, such as 21:00-08:00`
    case 'oneClick':
      return `--one-click: ${message}`
    default:
      return message
  }
}

function oneLine(message: string): string {
  return (
    message
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
