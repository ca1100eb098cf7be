import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { startedAt } from './process-identity.ts'

/** Ends what this process started when it dies without doing so itself, even by SIGKILL. */
export interface Reaper {
  /** Ends `pid` when we are gone, by `signal` (SIGTERM), by SIGKILL 5 s later; then removes `folderToRemove`. */
  watch(pid: number, folderToRemove?: string, signal?: NodeJS.Signals): void
  /** To be called as soon as `pid` ended. */
  forget(pid: number): void
  /** Ends the reaper, and before that whatever is still watched. */
  close(): Promise<void>
}

/**
 * A small process in a session of its own, so that Ctrl-C in the terminal doesn't reach it. Our end of its stdin
 * closes when we die; nothing else has to work for that.
 */
export function startReaper(): Reaper {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'reaper-process.mjs')], {
    detached: true,
    cwd: '/',
    // Not ours: a NODE_OPTIONS that loads tsx would slow it down.
    env: {},
    stdio: ['pipe', 'ignore', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => {
    child.once('exit', () => resolve())
    child.once('error', (error) => {
      console.warn(
        `No reaper (${error.message}): if this process is killed, its servers stay; end them by hand.`,
      )
      resolve()
    })
  })
  // EPIPE, when somebody killed the reaper: there is nobody left to tell.
  child.stdin.on('error', () => {})
  child.unref()
  ;(child.stdin as unknown as { unref(): void }).unref()

  function tell(message: object) {
    if (child.stdin.writable) child.stdin.write(`${JSON.stringify(message)}\n`)
  }

  return {
    watch(pid, folderToRemove, signal = 'SIGTERM') {
      tell({ pid, signal, folder: folderToRemove, startedAt: startedAt(pid) })
    },
    forget(pid) {
      tell({ pid, forget: true })
    },
    async close() {
      child.ref()
      child.stdin.end()
      await ended
    },
  }
}
