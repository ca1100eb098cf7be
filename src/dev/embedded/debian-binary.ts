import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { cached, cacheFolder, removeCached } from './cache-folder.ts'
import { type DebianPackage, unpackDebianPackage } from './debian-package.ts'

export interface Binary {
  file: string
  env: Record<string, string>
}

interface User {
  uid?: number
  gid?: number
}

export interface Wanted {
  /** The program's name in messages. */
  what: string
  /** Possible file names of the program, in the order to try. */
  names: readonly string[]
  /** Its path in the package. Default: `usr/bin` and one of its names. */
  path?: string
  package: DebianPackage
  /** Exit code of `--version`. Default: 0. */
  versionStatus?: number
  /** Pattern for the output of `--version`, if another program may have the same name. */
  versionOutput?: RegExp
  /** Advice for a machine on which no program is found. */
  advice: string
  /** The user that runs the program. Default: the current user. */
  user?: User
}

/** Finds a program that runs on this machine: on PATH, else in the cache, else in Debian's package, which fills the cache. */
export async function debianBinary(wanted: Wanted): Promise<Binary> {
  const { what, names, advice } = wanted
  const installed = findOnPath(wanted)
  if (installed) return installed
  try {
    const name = cacheName(wanted)
    const fill = (folder: string) => unpackAndTry(wanted, folder)
    const found = inFolder(wanted, await cached(name, fill))
    if (runs(wanted, tryOut(found, {}))) return found
    // It used libraries of this machine that have been removed since.
    await removeCached(name)
    return inFolder(wanted, await cached(name, fill))
  } catch (error) {
    throw new Error(
      `No ${what} here (tried ${names.join(' and ')} on PATH, a copy in ${cacheFolder()}, and Debian's package: ` +
        `${reason(error)}): ${advice}`,
      { cause: error },
    )
  }
}

/** Tries the program as the user who will run it, because root's PATH may lead into root's home. */
function findOnPath(wanted: Wanted): Binary | undefined {
  const { names, user = {} } = wanted
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders
    .flatMap((folder) => names.map((name) => ({ file: join(folder, name), env: {} })))
    .find((binary) => existsSync(binary.file) && runs(wanted, tryOut(binary, user)))
}

/** Includes the release, because Debian's binaries need the libraries of the release they were fetched for. */
export function cacheName({ what }: Pick<Wanted, 'what'>): string {
  let release = process.platform as string
  try {
    const text = readFileSync('/etc/os-release', 'utf8')
    const read = (key: string) => text.match(new RegExp(`^${key}="?([^"\n]*)`, 'm'))?.[1] ?? ''
    release = `${read('ID')}${read('VERSION_ID')}`
  } catch {}
  return `${what.toLowerCase().replaceAll(' ', '-')}-${release}-${process.arch}`
}

async function unpackAndTry(wanted: Wanted, folder: string): Promise<void> {
  await unpackDebianPackage(wanted.package, folder)
  const trial = tryOut(inFolder(wanted, folder), {})
  if (!runs(wanted, trial)) throw trial.error ?? new Error(trial.stderr)
}

function inFolder({ names, path }: Wanted, folder: string): Binary {
  const paths = path === undefined ? names.map((name) => join('usr/bin', name)) : [path]
  const files = paths.map((each) => join(folder, each))
  const file = files.find((candidate) => existsSync(candidate)) ?? files[0] ?? ''
  const libraries = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter(({ name }) => /\.so(\.|$)/.test(name))
    .map(({ parentPath }) => parentPath)
  return { file, env: { LD_LIBRARY_PATH: [...new Set(libraries)].join(':') } }
}

function tryOut({ file, env }: Binary, user: User) {
  return spawnSync(file, ['--version'], {
    ...user,
    cwd: '/',
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
}

function runs(
  { versionStatus = 0, versionOutput }: Wanted,
  { status, stdout }: ReturnType<typeof tryOut>,
): boolean {
  return status === versionStatus && (versionOutput?.test(stdout) ?? true)
}

function reason(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  return (stderr || message).trim().split('\n').at(-1) ?? ''
}
