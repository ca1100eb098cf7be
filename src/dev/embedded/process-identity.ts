import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readlinkSync, realpathSync } from 'node:fs'
import { basename } from 'node:path'

const hasProc = existsSync('/proc/self/stat')

/** When the process started, in no particular unit; undefined if it has ended. Distinguishes a reused pid from the old one. */
export function startedAt(pid: number): string | undefined {
  return attempt(() => {
    if (!hasProc) return outputOf('ps', '-o', 'lstart=', '-p', String(pid))
    // "42 (any name) S 1 42 …": the state, which is Z for a zombie; field 22 is the start time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')
    return fields?.[0] === 'Z' ? undefined : fields?.[19]
  })
}

/** Whether the process is a `program` whose working folder is `folder`: both servers change to their data folder. */
export function runsIn(pid: number, folder: string, program: RegExp): boolean {
  const found = attempt(() => {
    if (hasProc) return { file: readlinkSync(`/proc/${pid}/exe`), cwd: readlinkSync(`/proc/${pid}/cwd`) }
    const cwd = outputOf('lsof', '-a', '-d', 'cwd', '-p', String(pid), '-Fn').match(/^n(.*)$/m)?.[1]
    return { file: outputOf('ps', '-o', 'comm=', '-p', String(pid)), cwd }
  })
  return (
    found !== undefined &&
    program.test(basename(found.file)) &&
    found.cwd === attempt(() => realpathSync(folder))
  )
}

function outputOf(command: string, ...args: string[]): string {
  return execFileSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim()
}

function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
