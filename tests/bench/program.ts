import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import type { Reaper } from '../../src/dev/embedded/index.ts'
import { finishBuild } from '../../src/dev/finish-build.ts'
import { eventually } from '../support/wait.ts'

const projectRoot = fileURLToPath(new URL('../..', import.meta.url))
const build = 'dist/bench'

/** A file of the build. */
export const programFile = (entry: string) => join(projectRoot, build, entry)
const loggedWithinMs = 90_000
const shownOfLog = 2000

/** The options of `npm start` and `npm run worker`. */
const flags = ['--max-semi-space-size=64']

/** The programs that are measured, all from one build with the compiler settings of `npm run build`. */
export const programs = {
  api: { entry: 'src/server.js', readyEvent: 'listening', flags },
  worker: { entry: 'workers/main.js', readyEvent: 'working', flags },
  plainWorker: { entry: 'tests/bench/plain-worker.js', readyEvent: 'working' },
  usualApi: { entry: 'tests/bench/usual/api.js', readyEvent: 'listening' },
  usualWorker: { entry: 'tests/bench/usual/worker.js', readyEvent: 'working' },
  recordlessApi: { entry: 'tests/bench/bare/recordless-api.js', readyEvent: 'listening', flags },
  watchedApi: { entry: 'tests/bench/bare/watched-api.js', readyEvent: 'listening', flags },
  wholeJobApi: { entry: 'tests/bench/bare/whole-job-api.js', readyEvent: 'listening', flags },
  bareWorker: { entry: 'tests/bench/bare/worker.js', readyEvent: 'working' },
  mediaLoad: { entry: 'tests/bench/media-load-program.js', readyEvent: 'prepared' },
  echo: { entry: 'tests/bench/bare/echo.js', readyEvent: 'listening' },
  provider: { entry: 'tests/bench/provider-program.js', readyEvent: 'receiving' },
}

interface ProgramKind {
  entry: string
  readyEvent: string
  flags?: readonly string[]
}

export interface Program {
  pid: number
  /** The line that it logged when it was ready. */
  ready: Record<string, unknown>
  signal(signal: NodeJS.Signals): void
  /** The next log line of this event, including those since the last call. */
  logged(event: string): Promise<Record<string, unknown>>
  /** Ends it with SIGKILL, or with SIGTERM if it is profiled, and waits for its end. */
  kill(): Promise<void>
}

interface ProgramOptions {
  program: ProgramKind
  environment: Record<string, string>
  reaper: Reaper
  /** The folder of its log, which is removed if this process ends first. A pipe would have to be read. */
  folder: string
}

export async function buildPrograms(): Promise<void> {
  const tsc = join(projectRoot, 'node_modules/.bin/tsc')
  // The types are checked by `npm run check`.
  await promisify(execFile)(tsc, ['-p', 'tsconfig.bench.json', '--noCheck'], { cwd: projectRoot })
  await finishBuild(build)
}

let started = 0
let profiles: string | undefined

/** From now on each program is ended by SIGTERM, and writes a CPU profile to the folder. */
export function profileInto(folder: string): void {
  profiles = folder
}

export async function startProgram(options: ProgramOptions): Promise<Program> {
  const { entry, readyEvent, flags = [] } = options.program
  const logFile = join(options.folder, `${++started}-${basename(entry, '.js')}.log`)
  const log = openSync(logFile, 'a')
  const profiling = profiles === undefined ? [] : ['--cpu-prof', `--cpu-prof-dir=${profiles}`]
  const child = spawn(process.execPath, [...profiling, ...flags, programFile(entry)], {
    cwd: projectRoot,
    env: { ...process.env, ...options.environment },
    stdio: ['ignore', log, log],
    // In its own process group, so that Ctrl-C reaches only this process.
    detached: true,
  })
  const pid = child.pid
  if (pid === undefined) throw new Error(`${entry} could not be started`)
  const exited = once(child, 'exit')
  options.reaper.watch(pid, options.folder)
  void exited.then(() => options.reaper.forget(pid))

  const heard = new Map<string, number>()
  const logged = async (event: string) => {
    const at = heard.get(event) ?? 0
    const find = async () => {
      const written = await readFile(logFile, 'utf8')
      // The last line may be incomplete.
      const lines = written.split('\n').slice(0, -1)
      const line = lines.filter((one) => one.includes(`"event":"${event}"`))[at]
      if (line === undefined && child.exitCode !== null)
        throw new Error(`${entry} ended: ${written.slice(-shownOfLog)}`)
      return line
    }
    const line = await eventually(`${event} of ${entry}`, find, loggedWithinMs)
    heard.set(event, at + 1)
    return JSON.parse(line)
  }
  return {
    pid,
    ready: await logged(readyEvent),
    signal: (signal) => void child.kill(signal),
    logged,
    async kill() {
      child.kill(profiles === undefined ? 'SIGKILL' : 'SIGTERM')
      await exited
    },
  }
}
