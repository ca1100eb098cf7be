import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { stopAbandonedServer } from './abandoned-server.ts'
import { claimFolder } from './folder-claim.ts'
import { freePort } from './free-port.ts'
import type { Reaper } from './reaper.ts'
import { makeServerFolder, serverUser } from './server-user.ts'

/** A server that runs on 127.0.0.1 until it is stopped or this process ends. */
export interface Embedded {
  url: string
  pid: number
  stop(): Promise<void>
}

export interface StartOptions {
  /** For the server's data, pid file and log. Take it from `dataFolder`, because the servers have no access to root's home. */
  folder: string
  reaper: Reaper
  /** Removed by the reaper if this process is killed. */
  folderToRemove?: string | undefined
  /** For tests in which another process takes the port. */
  choosePort?: () => Promise<number>
}

/** The differences between PostgreSQL and Redis. */
export interface Server {
  name: string
  /** The file name of its executable. */
  program: RegExp
  /** The working folder that the server changes to. */
  workingFolder: string
  pidFile: string
  stopSignal: NodeJS.Signals
  /** Advice for a server that doesn't start. */
  advice: string
  prepare(): Promise<void>
  command(port: number): { file: string; args: string[]; env?: Record<string, string> }
  url(port: number): string
  /** Whether it answers, and is the process that was started, not another one on the same port. */
  answers(port: number, pid: number): Promise<boolean>
}

/** Log texts after which another start may succeed: the port is taken, or former PostgreSQL processes are still ending. */
const worthAnotherTry = /Address already in use|pre-existing shared memory block/
const tries = 10
const readyWithinMs = 60_000

/** Claims the folder, stops a server that a killed parent left there, and starts the server on a free port. */
export async function startServer(server: Server, options: StartOptions): Promise<Embedded> {
  await makeServerFolder(options.folder)
  const giveUpClaim = await claimFolder(options.folder)
  try {
    await stopAbandonedServer({ ...server, folder: server.workingFolder, signal: server.stopSignal })
    await server.prepare()
    const { child, port, pid } = await startOnFreePort(server, options)
    let stopped: Promise<void> | undefined
    return {
      url: server.url(port),
      pid,
      stop: () => {
        // Only once: later, the folder may belong to another process.
        stopped ??= end(child, server.stopSignal).then(giveUpClaim)
        return stopped
      },
    }
  } catch (error) {
    await giveUpClaim()
    throw error
  }
}

async function startOnFreePort(server: Server, options: StartOptions) {
  const { folder, choosePort = freePort } = options
  const logFile = join(folder, 'server.log')
  for (let left = tries; ; left--) {
    const port = await choosePort()
    const { child, pid } = await spawnServer(server, port, logFile, options)
    if (await becomesReady(server, child, port, pid)) return { child, port, pid }

    await end(child, 'SIGKILL')
    const log = await readFile(logFile, 'utf8')
    if (left > 1 && worthAnotherTry.test(log)) {
      await sleep(50)
      continue
    }
    const lastWords = log.trim().split('\n').slice(-5).join('\n')
    throw new Error(
      `${server.name} did not start. ${server.advice} If you don't need its data, remove ${folder}. ` +
        `The end of ${logFile}:\n${lastWords}`,
    )
  }
}

async function spawnServer(
  server: Server,
  port: number,
  logFile: string,
  { reaper, ...options }: StartOptions,
) {
  const { file, args, env } = server.command(port)
  const log = await open(logFile, 'w')
  try {
    const child = spawn(file, args, {
      ...serverUser(),
      // In a session of its own, so that Ctrl-C reaches only this process, which stops the server last.
      detached: true,
      // The server's user may have no access to this process's working folder.
      cwd: options.folder,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...env },
      // A file instead of a pipe: an inherited pipe would keep a reader of this process's output waiting.
      stdio: ['ignore', log.fd, log.fd],
    })
    await once(child, 'spawn')
    const pid = child.pid as number
    reaper.watch(pid, options.folderToRemove, server.stopSignal)
    child.once('exit', () => reaper.forget(pid))
    child.unref()
    return { child, pid }
  } catch (error) {
    throw new Error(`${server.name} can't be run (${(error as Error).message}). ${server.advice}`, {
      cause: error,
    })
  } finally {
    await log.close()
  }
}

async function becomesReady(
  server: Server,
  child: ChildProcess,
  port: number,
  pid: number,
): Promise<boolean> {
  // Raced, because another process on the port may accept connections and never answer.
  const ended = hasEnded(child) ? false : once(child, 'exit').then(() => false)
  for (const deadline = Date.now() + readyWithinMs; Date.now() < deadline; await sleep(10)) {
    if (await Promise.race([ended, server.answers(port, pid)])) return true
    if (hasEnded(child)) return false
  }
  return false
}

async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return
  child.ref()
  const exit = once(child, 'exit')
  child.kill(signal)
  const kill = setTimeout(() => child.kill('SIGKILL'), 10_000)
  await exit
  clearTimeout(kill)
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null
}
