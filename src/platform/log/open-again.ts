import { constants, fstatSync, openSync } from 'node:fs'

const { O_WRONLY, O_NONBLOCK, O_NOCTTY } = constants

/**
 * Opens stdout or stderr again, so that it is non-blocking here alone: other processes that have it, such as a shell, would set the
 * flag back. A file never waits, and stays as it is.
 *
 * @returns undefined if it can't be opened: a socket, and a pipe of another user.
 */
export function openAgain(fd: 1 | 2): number | undefined {
  try {
    return fstatSync(fd).isFile() ? fd : openSync(`/proc/self/fd/${fd}`, O_WRONLY | O_NONBLOCK | O_NOCTTY)
  } catch {
    return undefined
  }
}
