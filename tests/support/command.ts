import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { eventually } from './wait.ts'

/** A command as a person or a supervisor starts it. */
export interface Command {
  /** All its output. */
  output(): string
  /** Waits for a log line, by its event. */
  logged(event: string): Promise<Record<string, unknown>>
  /** Waits for such a text in what it prints. */
  printed(text: string): Promise<unknown>
  /** The process that the command itself is, such as npm, and all below it. */
  pids(): number[]
  signal(signal: NodeJS.Signals): void
  /** Ctrl-C: the terminal sends SIGINT to all processes of the command's group. */
  interrupt(): void
  /** Its exit code, and those of its processes that have outlived it. */
  ended(): Promise<{ code: number | null; outlivedBy: number[] }>
  /** For the end of a test that failed. */
  kill(): void
}

/** @param terminal whether it runs in one, in its foreground. */
export function startCommand(
  [file = '', ...args]: string[],
  options: { env: NodeJS.ProcessEnv; terminal: boolean; cwd?: string; uid?: number; gid?: number },
): Command {
  const quoted = [file, ...args].map((part) => `'${part.replaceAll("'", `'\\''`)}'`).join(' ')
  const child: ChildProcess = options.terminal
    ? spawn('script', ['--quiet', '--flush', '--return', '--command', `exec ${quoted}`, '/dev/null'], options)
    : spawn(file, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  const lines: string[] = []
  for (const stream of [child.stdout, child.stderr])
    if (stream) createInterface({ input: stream }).on('line', (line) => lines.push(line.trim()))
  const exited = once(child, 'exit')
  const pid = child.pid as number
  const pids = () => (options.terminal ? descendantsOf(pid) : [pid, ...descendantsOf(pid)])
  const seen = new Set<number>()
  const noteProcesses = () => {
    for (const each of pids()) seen.add(each)
  }
  const fail = (error: Error) => {
    throw new Error(`${error.message}. It printed:\n${lines.join('\n')}`)
  }
  return {
    output: () => lines.join('\n'),
    logged: (event) =>
      eventually(event, async () => {
        const line = lines.find((each) => each.includes(`"event":"${event}"`))
        return line !== undefined && JSON.parse(line.slice(line.indexOf('{')))
      }).catch(fail),
    printed: (text) => eventually(text, async () => lines.some((line) => line.includes(text))).catch(fail),
    pids,
    signal(signal) {
      noteProcesses()
      process.kill(pids()[0] ?? Number.NaN, signal)
    },
    interrupt() {
      noteProcesses()
      child.stdin?.write('\x03')
    },
    async ended() {
      const [code] = await exited
      return { code, outlivedBy: [...seen].filter(isAlive) }
    },
    kill() {
      noteProcesses()
      for (const each of [...seen, pid].filter(isAlive)) process.kill(each, 'SIGKILL')
    },
  }
}

/** The one that was started first comes first. */
function descendantsOf(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`
  if (!existsSync(file)) return []
  const children = readFileSync(file, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  return children.flatMap((child) => [child, ...descendantsOf(child)])
}

/** A process that has ended, but whose parent hasn't read its exit status yet, doesn't count. */
function isAlive(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}
