import { spawnSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { cached, cacheFolder } from './cache-folder.ts'
import { unpackDebianRedis } from './debian-redis.ts'
import { serverUser } from './server-user.ts'

const names = ['redis-server', 'valkey-server']

export interface RedisBinary {
  file: string
  env: Record<string, string>
}

/** A Redis server that runs here: from PATH, else from the cache, else Debian's package, which fills the cache. */
export async function redisBinary(): Promise<RedisBinary> {
  const installed = findOnPath()
  if (installed) return installed
  try {
    return inFolder(await cached(cacheName(), unpackAndTry))
  } catch (error) {
    throw new Error(
      `No Redis here (tried ${names.join(' and ')} on PATH, a copy in ${cacheFolder()}, and Debian's package: ` +
        `${reason(error)}): set REDIS_URL, e.g. to redis://127.0.0.1:6379 after \`docker compose up -d redis\`.`,
      { cause: error },
    )
  }
}

function findOnPath(): RedisBinary | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter).filter((folder) => folder !== '')
  return folders
    .flatMap((folder) => names.map((name) => ({ file: join(folder, name), env: {} })))
    .find((binary) => existsSync(binary.file) && runs(binary))
}

/** Debian's binaries go with the libraries of the release they were fetched for. */
function cacheName(): string {
  let release = process.platform as string
  try {
    const text = readFileSync('/etc/os-release', 'utf8')
    const read = (key: string) => text.match(new RegExp(`^${key}="?([^"\n]*)`, 'm'))?.[1] ?? ''
    release = `${read('ID')}${read('VERSION_ID')}`
  } catch {}
  return `redis-${release}-${process.arch}`
}

async function unpackAndTry(folder: string): Promise<void> {
  await unpackDebianRedis(folder)
  const { status, stderr, error } = tryOut(inFolder(folder), {})
  if (status !== 0) throw error ?? new Error(stderr)
}

function inFolder(folder: string): RedisBinary {
  const bin = readdirSync(join(folder, 'usr/bin'))
  const name = names.find((candidate) => bin.includes(candidate)) ?? names[0] ?? ''
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  const libraries = files.filter((file) => /\.so(\.|$)/.test(file.name)).map((file) => file.parentPath)
  return { file: join(folder, 'usr/bin', name), env: { LD_LIBRARY_PATH: [...new Set(libraries)].join(':') } }
}

/** Root's PATH may lead into root's home, where the servers' user finds nothing: so it is that user who tries. */
function runs(binary: RedisBinary): boolean {
  return tryOut(binary, serverUser()).status === 0
}

function tryOut({ file, env }: RedisBinary, user: { uid?: number; gid?: number }) {
  return spawnSync(file, ['--version'], {
    ...user,
    cwd: '/',
    env: { PATH: process.env.PATH, ...env },
    encoding: 'utf8',
  })
}

function reason(error: unknown): string {
  const { stderr, message } = error as { stderr?: string; message: string }
  return (stderr || message).trim().split('\n').at(-1) ?? ''
}
