import { DrizzleQueryError } from 'drizzle-orm'
import pg from 'pg'
import { isCertificateFault } from './connection-faults.ts'
import { PoolerFault } from './pooler.ts'

/** SQLSTATE classes of faults in the values of a statement: data exception, constraint violation. */
const rowFaultClasses = ['22', '23']
/** Connection lost, resources short, shut down or starting up. */
const unavailableClasses = ['08', '53', '57', '58']
/** What a server answers that has just stopped being the primary. */
const readOnly = '25006'
/** Of the function `too_late`. */
const tooLate = 'LATE0'
const lockTimeout = '55P03'
/** There, but not set up for us yet: no such database, not let in, not migrated, or no longer. */
const notSetUpCodes = ['3D000', '28000', '28P01', '42P01', readOnly]
/** We were away: it has ended a transaction that nobody went on with, and with it the connection. */
const idleInTransaction = '25P03'
/** A pooler has mixed up prepared statements: there is none of that name, or there is one already. */
const mixedUpCodes = ['26000', '42P05']
/** Too many connections; starting up. */
const notConnectedStates = ['53300', '57P03']
const notConnectedCodes = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']
const noConnection =
  /^(timeout exceeded when trying to connect|Connection terminated due to connection timeout)/
/** Of the network, or for want of file descriptors, e.g. ECONNREFUSED. */
const systemError = /^E[A-Z]{3}/
/** What pg says of lost connections without giving a code. */
const unavailableMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Query read timeout|Client has encountered a connection error|Client was closed|The server does not support SSL)/

/** Whether the statement failed for one of its rows, so that the others would do without that one. */
export function isRowFault(error: unknown): boolean {
  return isTooLate(error) || rowFaultClasses.includes(sqlState(error).slice(0, 2))
}

/** Whether the statement was undone since it came after its deadline. */
export function isTooLate(error: unknown): boolean {
  return sqlState(error) === tooLate
}

/** Whether the statement lost against another one, by deadlock, serialization or a lock, and may be run again as it is. */
export function isConflict(error: unknown): boolean {
  const state = sqlState(error)
  return state.startsWith('40') || state === lockTimeout
}

/** Whether PostgreSQL is away, overloaded, going down or not set up yet, as opposed to a fault of ours. */
export function isUnavailable(error: unknown): boolean {
  const cause = root(error)
  const state = sqlState(cause)
  if (unavailableClasses.includes(state.slice(0, 2)) || notSetUpCodes.includes(state)) return true
  if (state === idleInTransaction || mixedUpCodes.includes(state)) return true
  if (cause instanceof PoolerFault || isCertificateFault(cause)) return true
  if (!(cause instanceof Error)) return false
  const { code = '' } = cause as NodeJS.ErrnoException
  return systemError.test(code) || unavailableMessages.test(cause.message)
}

/** Whether there was no connection, so that the statement can't have reached PostgreSQL, nor be done later. */
export function isNotConnected(error: unknown): boolean {
  const cause = root(error)
  if (notConnectedStates.includes(sqlState(cause))) return true
  if (!(cause instanceof Error)) return false
  const { code = '' } = cause as NodeJS.ErrnoException
  return notConnectedCodes.includes(code) || noConnection.test(cause.message)
}

function sqlState(error: unknown): string {
  const cause = root(error)
  return cause instanceof pg.DatabaseError ? (cause.code ?? '') : ''
}

function root(error: unknown): unknown {
  return error instanceof DrizzleQueryError ? error.cause : error
}
