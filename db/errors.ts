import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'

/** SQLSTATE classes of faults in the values of a statement: data exception, constraint violation. */
const valueFaultClasses = ['22', '23']
/** Connection lost, resources short, shut down or starting up. */
const unavailableClasses = ['08', '53', '57', '58']
/** What a server answers that has just stopped being the primary. */
const readOnly = '25006'
/** A row was held by another transaction for longer than the statement was to wait. */
const lockNotAvailable = '55P03'
/** There, but not set up for us yet: no such database, not let in, not migrated, or no longer. */
const notSetUpCodes = ['3D000', '28000', '28P01', '42P01', readOnly]
const unavailableNodeCodes = [
  'ECONNREFUSED',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
]
/** What pg says of lost connections without giving a code. */
const unavailableMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error)/

/**
 * Whether the statement failed for what was in it, or for a row that somebody else holds, so that its other rows would
 * do without that one.
 */
export function isRowFault(error: unknown): boolean {
  const state = sqlState(error)
  return valueFaultClasses.includes(state.slice(0, 2)) || state === lockNotAvailable
}

/** Whether the statement lost against another one, by deadlock or serialization, and may be run again as it is. */
export function isConflict(error: unknown): boolean {
  return sqlState(error).startsWith('40')
}

/** Whether PostgreSQL is away, overloaded, going down or not set up yet, as opposed to a fault of ours. */
export function isUnavailable(error: unknown): boolean {
  const cause = root(error)
  const state = sqlState(cause)
  if (unavailableClasses.includes(state.slice(0, 2)) || notSetUpCodes.includes(state)) return true
  if (state === lockNotAvailable) return true
  if (!(cause instanceof Error)) return false
  const { code } = cause as NodeJS.ErrnoException
  return (
    (code !== undefined && unavailableNodeCodes.includes(code)) || unavailableMessages.test(cause.message)
  )
}

function sqlState(error: unknown): string {
  const cause = root(error)
  return cause instanceof pg.DatabaseError ? (cause.code ?? '') : ''
}

function root(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}
