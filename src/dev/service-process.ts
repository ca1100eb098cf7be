import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import type { Reaper } from './embedded/index.ts'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const startWithinMs = 30_000
const rememberedLines = 50

/** A process of the service, run from its source, or from a build where `SERVICE_BUILD` names its folder. */
export interface ServiceProcess {
  child: ChildProcess
  /** The log line with `readyEvent`. */
  ready: Record<string, unknown>
  /** The last lines of its output. */
  lastLines(): string
  /** Sends SIGTERM, and waits for its end. */
  stop(): Promise<void>
}

export interface ServiceOptions {
  /** Path from the project's root, e.g. `src/server.ts`. */
  entry: string
  /** The event that it logs when it is ready. */
  readyEvent: string
  environment: Record<string, string>
  reaper: Reaper
  onLine?: (line: string) => void
  /** Folder of the build to run, in place of that of `SERVICE_BUILD`. */
  build?: string | undefined
}

/** What Node.js has to be given to run it. */
export function argumentsOf(entry: string, build = process.env.SERVICE_BUILD): string[] {
  if (build === undefined) return ['--import', 'tsx', entry]
  return [join(build, entry.replace(/ts$/, 'js'))]
}

export async function startService(options: ServiceOptions): Promise<ServiceProcess> {
  const { entry, reaper } = options
  const child = spawn(process.execPath, argumentsOf(entry, options.build), {
    cwd: projectRoot,
    env: { ...process.env, ...options.environment },
    stdio: ['ignore', 'pipe', 'pipe'],
    // In a group of its own, so that Ctrl-C reaches only this process, which stops its children in order.
    detached: true,
  })
  const lines: string[] = []
  const exited = once(child, 'exit')
  if (child.pid) reaper.watch(child.pid)
  void exited.then(() => child.pid && reaper.forget(child.pid))
  const ready = new Promise<Record<string, unknown>>((resolve) => {
    for (const stream of [child.stdout, child.stderr]) {
      createInterface({ input: stream }).on('line', (line) => {
        lines.push(line)
        if (lines.length > rememberedLines) lines.shift()
        options.onLine?.(line)
        if (line.includes(`"event":"${options.readyEvent}"`)) resolve(JSON.parse(line))
      })
    }
  })
  const fail = (how: string) => new Error(`${entry} ${how}. Its last lines:\n${lines.join('\n')}`)
  let timer: NodeJS.Timeout | undefined
  const tooLate = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(() => reject(fail(`was not ready within ${startWithinMs} ms`)), startWithinMs)
  })
  const died = exited.then(([code]) => Promise.reject(fail(`ended with code ${code}`)))
  const readyLine = await Promise.race([ready, tooLate, died])
    .catch((error: unknown) => {
      child.kill('SIGKILL')
      throw error
    })
    .finally(() => clearTimeout(timer))

  return {
    child,
    ready: readyLine,
    lastLines: () => lines.join('\n'),
    async stop() {
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM')
      await exited
    },
  }
}
