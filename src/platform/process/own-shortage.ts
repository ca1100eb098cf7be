import { closeSync, openSync } from 'node:fs'
import { devNull, networkInterfaces } from 'node:os'
import { type ConnectionError, type OwnShortage, shortageOf } from '../../core/sends/own-shortage.ts'
import { type Logger, logWarningOnceAMinute } from '../log/logger.ts'

/** Whether this machine has a network beside its own loopback. It throws without a descriptor, which is another shortage. */
function isOnline(): boolean {
  try {
    return Object.values(networkInterfaces()).some((all) => all?.some(({ internal }) => !internal))
  } catch {
    return true
  }
}

/** The resource that this machine lacked for a connection that failed with the error; undefined if it was something else. */
export const connectionShortage = (
  error: ConnectionError,
  givenBy?: 'operators' | 'clients',
): OwnShortage | undefined => shortageOf(error, { givenBy, isOnline: isOnline() })

/** A look-up needs its files and sockets at the same time. */
const descriptorsOfLookUp = 4

/** The error of a look-up. Where a descriptor or the network is missing, the system says that the name doesn't exist, or to try again. */
export function lookUpError(error: ConnectionError): ConnectionError {
  const opened: number[] = []
  try {
    while (opened.length < descriptorsOfLookUp) opened.push(openSync(devNull, 'r'))
    return isOnline() ? error : Object.assign(new Error('no network'), { code: 'ENETDOWN' })
  } catch (shortage) {
    return shortage as ConnectionError
  } finally {
    for (const descriptor of opened) closeSync(descriptor)
  }
}

/** Thrown by what was not begun for want of it. */
export class ShortageError extends Error {
  readonly shortage: OwnShortage

  constructor(shortage: OwnShortage) {
    super(shortage.reason)
    this.shortage = shortage
  }
}

/** Names a shortage and what to do about it, at most once a minute. */
export function warnOfShortage(log: Logger, { reason, advice }: OwnShortage): void {
  logWarningOnceAMinute(log, 'worker_shortage', new Error(`${reason}: ${advice}`))
}
