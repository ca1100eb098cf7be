import { readFile, rm } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { runsIn, startedAt } from './process-identity.ts'

interface AbandonedServer {
  pidFile: string
  folder: string
  program: RegExp
  signal: NodeJS.Signals
}

/**
 * Stops the server that a killed parent left running on `folder`, if there is one. A pid file can outlive its server, and its
 * pid may belong to another process by now. Then that process is left alone, and only the file is removed, which would
 * otherwise prevent the next start.
 */
export async function stopAbandonedServer({
  pidFile,
  folder,
  program,
  signal,
}: AbandonedServer): Promise<void> {
  const pid = Number.parseInt(await readFile(pidFile, 'utf8').catch(() => ''), 10)
  if (!(pid > 1) || startedAt(pid) === undefined) return
  if (!runsIn(pid, folder, program)) {
    await rm(pidFile, { force: true })
    return
  }

  for (const step of [signal, 'SIGKILL'] as const) {
    try {
      process.kill(pid, step)
    } catch {
      return
    }
    for (const deadline = Date.now() + 10_000; Date.now() < deadline; await sleep(10)) {
      if (!runsIn(pid, folder, program)) return
    }
  }
  throw new Error(
    `Process ${pid}, left by an earlier run, still uses ${folder}: end it by hand (kill -9 ${pid}).`,
  )
}
