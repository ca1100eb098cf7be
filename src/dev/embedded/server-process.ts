import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { open, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { claimFolder } from './folder-claim.ts'
import { freePort } from './free-port.ts'
import { stopLeftServer } from './left-server.ts'
import type { Reaper } from './reaper.ts'
import { makeServerFolder, serverUser } from './server-user.ts'

/** A server that runs on 127.0.0.1 until it is stopped or this process ends. */
export interface Embedded {
  url: string
  pid: number
  stop(): Promise<void>
}

export interface StartOptions {
  /** Holds the server's data, pid file and log. Take it from `dataFolder`: root's home is closed to the servers. */
  folder: string
  reaper: Reaper
  /** Removed by the reaper, should this process be killed. */
  folderToRemove?: string | undefined
  /** For tests of what happens when the port is taken after all. */
  choosePort?: () => Promise<number>
}

/** What differs between the servers. */
export interface Server {
  name: string
  /** The file name of its executable. */
  program: RegExp
  /** What it makes its working folder. */
  workingFolder: string
  pidFile: string
  stopSignal: NodeJS.Signals
  /** What to do when it won't start. */
  advice: string
  prepare(): Promise<void>
  command(port: number): { file: string; args: string[]; env?: Record<string, string> }
  url(port: number): string
  /** Whether it answers, and is the process that we started, not another one that got hold of the port. */
  answers(port: number, pid: number): Promise<boolean>
}

/** What the log of either server says when another start may go well: a taken port, or backends still on their way out. */
const worthAnotherTry = /Address already in use|pre-existing shared memory block/
const tries = 10
const timeouts = 60_000

/** Claims the folder, stops what a killed parent left there, and starts the server on a free port. */
export async function startServer(server: Server, options: StartOptions): Promise<Embedded> {
  await makeServerFolder(options.folder)
  const giveUpClaim = await claimFolder(options.folder)
  try {
    await stopLeftServer({ ...server, folder: server.workingFolder, signal: server.stopSignal })
    await server.prepare()
    const { child, port, pid } = await startOnFreePort(server, options)
    let stopped: Promise<void> | undefined
    return {
      url: server.url(port),
      pid,
      stop: () => {
        // Once only: by the second time, the folder may be another process's.
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
      `${server.name} did not start. ${server.advice} If its data may go, remove ${folder}. ` +
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
      // In a session of its own: Ctrl-C is for us, who stop it when nobody needs it any more.
      detached: true,
      // Not ours, which its user may not be allowed to enter.
      cwd: options.folder,
      env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC', ...env },
      // A file and no pipe: a pipe would keep whoever reads our output waiting.
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
  // A stranger on the port may accept and say nothing: an end of ours must not wait for that.
  const ended = hasEnded(child) ? false : once(child, 'exit').then(() => false)
  for (const deadline = Date.now() + timeouts; Date.now() < deadline; await sleep(10)) {
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
