import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { startedAt } from './process-identity.ts'

/** Ends the processes that this process started, if it ends without doing so itself, even by SIGKILL. */
export interface Reaper {
  /**
   * When this process has ended: ends `pid` by `signal` (default SIGTERM), by SIGKILL 5 s later, then removes
   * `folderToRemove`.
   */
  watch(pid: number, folderToRemove?: string, signal?: NodeJS.Signals): void
  /** Call it as soon as `pid` has ended. */
  forget(pid: number): void
  /** Ends all processes that are still watched, then the reaper. */
  close(): Promise<void>
}

/**
 * Starts a small process in a session of its own, so that Ctrl-C in the terminal doesn't reach it. It notices the end of this
 * process because its stdin closes.
 */
export function startReaper(): Reaper {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'reaper-process.mjs')], {
    detached: true,
    cwd: '/',
    // Without this process's environment: a NODE_OPTIONS that loads tsx would slow the start down.
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', (error) => {
      console.warn(
        `Can't start the reaper (${error.message}). If this process is killed, its servers go on running: end them by hand.`,
      )
      resolve()
    })
  })
  // EPIPE, if the reaper was killed.
  child.stdin.on('error', () => {})
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()

  function write(message: object) {
    if (child.stdin.writable) child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  return {
    watch(pid, folderToRemove, signal = 'SIGTERM') {
      write({ pid, signal, folder: folderToRemove, startedAt: startedAt(pid) })
    },
    forget(pid) {
      write({ pid, forget: true })
    },
    async close() {
      child.ref()
      child.stdin.end()
      await ended
    },
  }
}
