import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { databaseCause } from './database-cause.ts'

/** SQLSTATE classes of invalid values in a statement: data exception, constraint violation. */
const rowFaultClasses = ['22', '23']
/** Raised by the function `too_late`. */
const tooLate = 'LATE0'
const lockTimeout = '55P03'
/** No such table, column or function. */
const missingCodes = ['42P01', '42703', '42883']
const insufficientPrivilege = '42501'
/** Too many connections; starting up. */
const notConnectedStates = ['53300', '57P03']
const notConnectedCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']
const noConnection =
  /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)/
/** pg's message if a statement takes longer than its `query_timeout`. */
const timedOut = 'Query read timeout'

/** Whether the statement failed because of one of its rows, so that it would succeed without that row. */
export function isRowFault(error: unknown): boolean {
  return isTooLate(error) || rowFaultClasses.includes(sqlState(error).slice(0, 2))
}

/** Whether the statement was rolled back because it was past its deadline. */
export function isTooLate(error: unknown): boolean {
  return sqlState(error) === tooLate
}

/** Whether the statement conflicted with another one (deadlock, serialization, lock time-out) and may be repeated unchanged. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error)
  return state.startsWith('40') || state === lockTimeout
}

/** Whether PostgreSQL is down, overloaded, shutting down or not set up, as opposed to a bug of this service. */
export const isUnavailable = (error: unknown): boolean => databaseCause(error) !== undefined

/** Whether there was no connection, so that the statement certainly didn't reach PostgreSQL. */
export function isNotConnected(error: unknown): boolean {
  const cause = root(error)
  if (notConnectedStates.includes(sqlState(cause))) return true
  if (!(cause instanceof Error)) return false
  const { code = '' } = cause as NodeJS.ErrnoException
  return notConnectedCodes.includes(code) || noConnection.test(cause.message)
}

/** Whether the role may not do what the statement does. */
export function lacksPrivilege(error: unknown): error is Error {
  return sqlState(error) === insufficientPrivilege
}

/** Whether the statement needs something that a migration of this release creates. */
export const lacksMigration = (error: unknown): boolean => missingCodes.includes(sqlState(error))

/** Whether PostgreSQL didn't answer the statement in time, so that its connection may hang. */
export function isTimeOut(error: unknown): boolean {
  const cause = root(error)
  return cause instanceof Error && cause.message === timedOut
}

function sqlState(error: unknown): string {
  const cause = root(error)
  return cause instanceof pg.DatabaseError ? (cause.code ?? '') : ''
}

function root(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}
