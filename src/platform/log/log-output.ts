import { writeSync } from 'node:fs'
import { openAgain } from './open-again.ts'
import { printError } from './print-error.ts'

/** Enough for a reader that is behind for a moment, at the full rate of a process. */
const maxWaitingBytes = 1024 * 1024
/** A reader that has taken nothing for so long counts as stalled. */
const stalledAfterMs = 1000
const waitForReaderMs = 20
const tryAgainEveryMs = 1000
/** How long the end of a process may wait for the reader of its last lines. */
const lastLinesWithinMs = 500
const newline = 10

const advice: Record<string, string> = {
  EAGAIN: 'let its reader read on',
  EPIPE: 'its reader has ended, start it again',
  ENOSPC: 'free space on its disk',
  EDQUOT: 'free space within its disk quota',
  EFBIG: 'its file may not grow, rotate it',
}

/** Makes the log line that is written when the output works again. */
type Recovery = (loss: { dropped: number; reason: string }) => string

/**
 * The output of a log that no caller ever waits for. Lines of one event-loop tick are written together, at its end. Lines
 * that can't be written are dropped and counted, until the recovery line, tried every second, can be written. Lines are
 * dropped whole: one that was begun is finished first.
 */
export class LogOutput {
  readonly #fd: number
  readonly #recovery: Recovery
  /** Lines of this tick. */
  #lines = ''
  /** Lines that the output has not taken yet. */
  #rest = Buffer.alloc(0)
  #isLineBegun = false
  #lastTakenAt = 0
  #isScheduled = false
  #loss: { since: number; reason: string; timer: NodeJS.Timeout } | undefined
  #dropped = 0

  /** @param fd of a file, or non-blocking: a write that waits stops the process. */
  constructor(fd: number, recovery: Recovery) {
    this.#fd = fd
    this.#recovery = recovery
  }

  /** Since the start of the process. */
  get droppedLines(): number {
    return this.#dropped
  }

  write(line: string): void {
    if (this.#loss) {
      this.#dropped++
      return
    }
    this.#lines += line
    if (this.#isScheduled) return
    this.#isScheduled = true
    setImmediate(this.#flush)
  }

  /** For the end of the process: a crash leaves its last line. */
  writeLastLines(): void {
    const until = performance.now() + lastLinesWithinMs
    if (this.#loss) this.#tryAgain()
    else this.#flush()
    while (this.#rest.length > 0 && !this.#loss && performance.now() < until) {
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, waitForReaderMs)
      this.#flush()
    }
  }

  #flush = (): void => {
    this.#isScheduled = false
    const fault = this.#writeOut(this.#lines)
    this.#lines = ''
    if (fault === undefined) return
    const { length } = this.#rest
    const isStalled = performance.now() - this.#lastTakenAt > stalledAfterMs
    if (fault === 'EAGAIN' && !isStalled && length <= maxWaitingBytes) {
      this.#isScheduled = true
      setTimeout(this.#flush, waitForReaderMs)
    } else {
      this.#startDropping(fault)
    }
  }

  /** Writes what is left and `text`, as far as the output takes it, and returns the code of the error that stopped it. */
  #writeOut(text: string): string | undefined {
    const added = Buffer.from(text)
    if (this.#rest.length === 0) this.#lastTakenAt = performance.now()
    let left = this.#rest.length === 0 ? added : Buffer.concat([this.#rest, added])
    let fault: string | undefined
    while (left.length > 0 && fault === undefined) {
      try {
        const taken = writeSync(this.#fd, left)
        this.#isLineBegun = left[taken - 1] !== newline
        this.#lastTakenAt = performance.now()
        left = left.subarray(taken)
      } catch (error) {
        fault = (error as NodeJS.ErrnoException).code ?? 'unknown'
      }
    }
    this.#rest = left
    return fault
  }

  #startDropping(reason: string): void {
    const timer = setInterval(() => this.#tryAgain(), tryAgainEveryMs).unref()
    this.#loss = { since: this.#dropped, reason, timer }
    this.#dropped += this.#dropRest()
    const what = advice[reason] ?? 'look where it goes'
    printError(`stdout can't be written (${reason}): ${what}. Log lines are dropped and counted until then.`)
  }

  /** Keeps only the end of a line that was begun, and returns how many lines it dropped. */
  #dropRest(): number {
    const kept = this.#isLineBegun ? this.#rest.indexOf(newline) + 1 : 0
    const lines = this.#rest.subarray(kept).filter((byte) => byte === newline).length
    // Copied: a part of it would keep the whole in memory.
    this.#rest = Buffer.from(this.#rest.subarray(0, kept))
    return lines
  }

  #tryAgain(): void {
    if (!this.#loss) return
    const { since, reason, timer } = this.#loss
    const fault = this.#writeOut(this.#recovery({ dropped: this.#dropped - since, reason }))
    if (fault === undefined) {
      clearInterval(timer)
      this.#loss = undefined
    } else {
      this.#dropRest()
    }
  }
}

let output: LogOutput | undefined

/** The one output on stdout. */
export function standardOutput(recovery: Recovery): LogOutput {
  if (output) return output
  const opened = new LogOutput(openStdout(), recovery)
  output = opened
  process.on('exit', () => opened.writeLastLines())
  // A file that may not grow (`ulimit -f`) would otherwise end the process.
  process.on('SIGXFSZ', () => {})
  return opened
}

/** How many log lines of the process were dropped since its start. */
export function droppedLogLines(): number {
  return output?.droppedLines ?? 0
}

function openStdout(): number {
  const opened = openAgain(1)
  if (opened !== undefined) return opened
  // Makes it non-blocking, as Node.js does with pipes and sockets.
  void process.stdout
  return 1
}
