import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { connectionCause } from '../../src/core/connection-cause.ts'
import { type PostgresCauseName, postgresCauses, type StoreCause } from '../../src/core/store-causes.ts'
import { DatabaseFault } from './session.ts'

/** Needs no change by an operator: after a failover the same address takes writes again. */
export class ReadOnlyFault extends Error {
  constructor() {
    super('PostgreSQL takes no writes: this is a standby, or default_transaction_read_only is on')
  }
}

/** A pooler mixed up prepared statements: there is none of that name, or there is one already. */
export const mixedUpCodes = ['26000', '42P05']

/** By the SQLSTATE, the first that fits. */
const states: [RegExp, PostgresCauseName][] = [
  [/^53100/, 'disk_full'],
  [/^53300/, 'too_many_connections'],
  [/^53/, 'short_of_resources'],
  // A statement_timeout of the role, or an operator, canceled it.
  [/^57014/, 'timeout'],
  [/^57/, 'starting'],
  [/^58/, 'server_fault'],
  [/^08/, 'unreachable'],
  [/^25006/, 'read_only'],
  [/^25P03/, 'process_stood_still'],
  [/^28/, 'login_refused'],
  [/^3D000/, 'no_database'],
  [/^42501/, 'no_permission'],
  // No such table. A missing column or function may also be a bug: `lacksMigration`.
  [/^42P01/, 'not_migrated'],
  [new RegExp(`^(${mixedUpCodes.join('|')})`), 'pooler'],
]

/** pg's own errors have no code. */
const messages: [RegExp, PostgresCauseName][] = [
  [/^The server does not support SSL/, 'no_tls'],
  [/^no pg_hba\.conf entry.*no encryption$/, 'tls_required'],
  [/^SASL: |password must be a string/, 'login_refused'],
  [
    /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout|Query read timeout)/,
    'timeout',
  ],
  [/^(Connection terminated|Client has encountered a connection error|Client was closed)/, 'unreachable'],
]

/** Last until an operator changes a setting, or the server: a process doesn't start with them. */
const lasting: PostgresCauseName[] = [
  'certificate_untrusted',
  'certificate_of_other_host',
  'certificate_expired',
  'certificate_not_yet_valid',
  'no_tls',
  'tls_required',
]

/** Why PostgreSQL can't be used, by an error of the driver; undefined if the error has another cause, such as a bug. */
export function databaseCause(error: unknown): StoreCause | undefined {
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  if (cause instanceof DatabaseFault) return unfit(cause)
  const name = causeName(cause)
  return name && postgresCauses[name]
}

/**
 * For a connection to PostgreSQL that fails until an operator changes something: one line that names the setting to change.
 * Undefined for any other fault, such as a server that is down.
 */
export function connectionFault(error: unknown): string | undefined {
  const cause = error instanceof DrizzleQueryError ? error.cause : error
  if (cause instanceof DatabaseFault) return cause.message
  const name = causeName(cause)
  if (name === undefined || !lasting.includes(name)) return undefined
  const { problem, advice } = postgresCauses[name]
  const { code } = cause as NodeJS.ErrnoException
  return `DATABASE_URL: ${problem}${code === undefined ? '' : ` (${code})`}; ${advice}`
}

/** Its message is one line that says what to do after the first semicolon. */
function unfit({ message }: DatabaseFault): StoreCause {
  const [problem = '', ...advice] = message.split('; ')
  return { cause: 'unfit', problem, advice: advice.join('; ') }
}

function causeName(error: unknown): PostgresCauseName | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof ReadOnlyFault) return 'read_only'
  const byMessage = messages.find(([pattern]) => pattern.test(error.message))?.[1]
  if (byMessage !== undefined) return byMessage
  if (!(error instanceof pg.DatabaseError)) return connectionCause(error)
  return states.find(([pattern]) => pattern.test(error.code ?? ''))?.[1]
}
