import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { eventually } from './wait.ts'

/** The wall clocks of processes that are started with its environment. */
export interface MovableClocks {
  environment: Record<string, string>
  /** Sets the clock of one of them: from now on it is so far ahead of the machine's. */
  set(pid: number, aheadMs: number): Promise<void>
  stop(): Promise<void>
}

const preload = fileURLToPath(new URL('moved-clock.mjs', import.meta.url))

/** @param aheadMs of each process from its start on. */
export async function movableClocks(aheadMs = 0): Promise<MovableClocks> {
  const folder = await mkdtemp(join(tmpdir(), 'clocks-'))
  return {
    environment: {
      NODE_OPTIONS: `${process.env.NODE_OPTIONS ?? ''} --import ${preload}`,
      CLOCK_FOLDER: folder,
      CLOCK_AHEAD_MS: String(aheadMs),
    },
    async set(pid, aheadMs) {
      const file = join(folder, String(pid))
      await writeFile(`${file}.new`, String(aheadMs))
      await rename(`${file}.new`, file)
      process.kill(pid, 'SIGWINCH')
      await eventually(`the clock of ${pid}`, async () => !existsSync(file))
    },
    stop: () => rm(folder, { recursive: true, force: true }),
  }
}
