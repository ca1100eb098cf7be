import { setTimeout as sleep } from 'node:timers/promises'
import { readFileHashes, readFiles } from '../db/accounts/provider-files.ts'
import type { Database, Transaction } from '../db/connection/client.ts'
import { isUnavailable } from '../db/connection/errors.ts'
import { type Logger, logWarningOnceAMinute } from './platform/log/logger.ts'
import { type CompiledFile, compileFile } from './providers/files/compile.ts'
import { setOperatorFiles } from './providers/known.ts'
import type { Needs } from './runtime.ts'

/** A file that was set counts in every process within 5 s. */
const askEveryMs = 2000

/** A file that this release can't read: a newer one has set it. */
type Unreadable = (name: string, issues: readonly string[]) => void

/** The operator's files as one process has them. */
class ProviderFiles {
  #files = new Map<string, CompiledFile>()
  #hashes = ''

  /** Reads the files that have changed. */
  async load(db: Database | Transaction, unreadable: Unreadable): Promise<void> {
    const rows = await readFileHashes(db, [])
    const hashes = JSON.stringify(rows.map(({ name, hash }) => `${name} ${hash}`).sort())
    if (hashes === this.#hashes) return
    const files = new Map<string, CompiledFile>()
    for (const { name, hash, content } of await readFiles(db)) {
      const former = this.#files.get(name)
      const file = former?.hash === hash ? former : compileFile(content)
      if (!('issues' in file)) files.set(name, file)
      else {
        unreadable(name, file.issues)
        if (former) files.set(name, former)
      }
    }
    this.#files = files
    this.#hashes = hashes
    setOperatorFiles(files)
  }
}

/** For a command, which runs for a moment. */
export async function loadProviderFiles(db: Database | Transaction): Promise<void> {
  await new ProviderFiles()
    .load(db, () => {})
    .catch((error: { cause?: { code?: string }; code?: string }) => {
      // Before `migrate` there is no table.
      if ((error.code ?? error.cause?.code) !== '42P01') throw error
    })
}

/** Keeps the operator's files of a process up to date. Resolves when it has all that there are, or PostgreSQL doesn't answer. */
export async function keepProviderFiles({ db, log }: Needs<'db' | 'log'>): Promise<{ stop(): void }> {
  const files = new ProviderFiles()
  const stopping = new AbortController()
  const ask = () =>
    files.load(db, unreadableIn(log)).catch((error) => {
      // The files that are here stay. The process reports by itself that PostgreSQL is away.
      if (!isUnavailable(error) && !stopping.signal.aborted)
        logWarningOnceAMinute(log, 'provider_files_unknown', error)
    })
  await ask()
  void (async () => {
    while (!stopping.signal.aborted) {
      await sleep(askEveryMs, undefined, { signal: stopping.signal, ref: false }).catch(() => {})
      if (!stopping.signal.aborted) await ask()
    }
  })()
  return { stop: () => stopping.abort() }
}

const unreadableIn =
  (log: Logger): Unreadable =>
  (name, issues) =>
    log.warn({ event: 'provider_file_unreadable', provider: name, reason: issues.join('; ') })
