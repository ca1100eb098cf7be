import { writeSync } from 'node:fs'
import { openAgain } from './open-again.ts'

let isGuarded = false
let opened: number | undefined

/** Keeps the process alive when stderr can't be written, by whatever module of it: a full disk, or a reader that has ended. */
export function guardStderr(): void {
  if (isGuarded) return
  isGuarded = true
  process.stderr.on('error', () => {})
}

/** Prints a line on stderr, if stderr takes it now. A reader that doesn't read stops nothing. */
export function printError(line: string): void {
  guardStderr()
  opened ??= openAgain(2)
  if (opened === undefined) {
    process.stderr.write(`${line}\n`)
    return
  }
  try {
    writeSync(opened, `${line}\n`)
  } catch {
    // The line is lost, as one in a log is.
  }
}
