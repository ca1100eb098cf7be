let isGuarded = false

/** Keeps the process alive when stderr can't be written, by whatever module of it: a full disk, or a reader that has ended. */
export function guardStderr(): void {
  if (isGuarded) return
  isGuarded = true
  process.stderr.on('error', () => {})
}

/** Prints a line on stderr, if stderr takes it. A reader that doesn't read stops nothing: Node.js doesn't wait for pipes. */
export function printError(line: string): void {
  guardStderr()
  process.stderr.write(`${line}\n`)
}
