import { writeSync } from 'node:fs'
import { openAgain } from './open-again.ts'

/** A pipe takes a line of this length, with its end, whole or not at all. */
const longestLineBytes = 4000

const newline = Buffer.from('\n')

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
    writeSync(opened, Buffer.concat([Buffer.from(line).subarray(0, longestLineBytes), newline]))
  } catch {
    // The line is lost, as one in a log is.
  }
}
