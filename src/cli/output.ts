import type { Writable } from 'node:stream'

/** Nobody reads the output any more, as after `| head -1`: what only prints can end. */
export class ReaderGone extends Error {}

/** The output of a command, on stdout. */
export class Output {
  readonly #stream: Writable
  #isUnread = false
  #fault: NodeJS.ErrnoException | undefined

  constructor(stream: Writable) {
    this.#stream = stream
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EPIPE') this.#isUnread = true
      else this.#fault ??= error
    })
  }

  /** @throws ReaderGone after an earlier line found no reader. */
  print = (line: string): void => {
    if (this.#isUnread) throw new ReaderGone()
    this.#stream.write(`${line}\n`)
  }

  /** For a command that changes something, and has to go on to its end. */
  printProgress = (line: string): void => {
    if (!this.#isUnread) this.#stream.write(`${line}\n`)
  }

  /** Waits until all is written. @returns why it can't be; undefined if it was, or if nobody reads it. */
  async fault(): Promise<NodeJS.ErrnoException | undefined> {
    await new Promise<void>((resolve) => this.#stream.write('', () => setImmediate(resolve)))
    return this.#fault
  }
}
