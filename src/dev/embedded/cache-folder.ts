import { createHash } from 'node:crypto'
import { existsSync, realpathSync } from 'node:fs'
import { chmod, mkdir, mkdtemp, readdir, rename, rm, stat } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'

const project = 'outbound-messaging-api'
const checkout = realpathSync(join(import.meta.dirname, '../../..'))
const anHour = 3_600_000

/**
 * The folder for the binaries and data of the embedded servers: system-wide for root, whose home the servers' user can't
 * enter, else in the user's cache.
 */
export function cacheFolder(): string {
  if (process.getuid?.() === 0) return join('/var/cache', project)
  return resolve(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), project)
}

/**
 * The cached folder of that name, filled on first use. `name` must include version and architecture. The folder is filled
 * under a temporary name and then renamed, so that it is never seen half filled; if two processes fill it at once, the
 * second copy is dropped.
 */
export async function cached(name: string, fill: (folder: string) => Promise<void>): Promise<string> {
  const parent = await passableFolder('bin')
  const folder = join(parent, name)
  if (existsSync(folder)) return folder

  await removeAbandoned(parent)
  const partial = await mkdtemp(join(parent, `${name}.partial-`))
  try {
    await fill(partial)
    await makeReadable(partial)
    await rename(partial, folder)
  } catch (error) {
    await rm(partial, { recursive: true, force: true })
    if (!existsSync(folder)) throw error
  }
  return folder
}

/** Removes the cached folder, so that the next use fills it again. */
export async function removeCached(name: string): Promise<void> {
  await rm(join(cacheFolder(), 'bin', name), { recursive: true, force: true })
}

/** A folder for data of the servers. Each checkout has its own, even with the same `name`. */
export async function dataFolder(name: string): Promise<string> {
  const key = createHash('sha256').update(checkout).digest('hex').slice(0, 12)
  return passableFolder('data', key, name)
}

/** Sets the mode after mkdir, because a strict umask would keep the servers' user out of root's cache. */
async function passableFolder(...names: string[]): Promise<string> {
  let folder = cacheFolder()
  try {
    await mkdir(folder, { recursive: true })
    await chmod(folder, 0o755)
    for (const name of names) {
      folder = join(folder, name)
      await mkdir(folder, { recursive: true })
      await chmod(folder, 0o755)
    }
  } catch (error) {
    throw new Error(
      `Can't use ${folder} for the embedded servers: make it writable, or (not as root) set XDG_CACHE_HOME.`,
      {
        cause: error,
      },
    )
  }
  return folder
}

async function makeReadable(folder: string): Promise<void> {
  await chmod(folder, 0o755)
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name)
    if (entry.isDirectory()) await chmod(path, 0o755)
    else if (entry.isFile()) await chmod(path, (await stat(path)).mode & 0o100 ? 0o755 : 0o644)
  }
}

/** Removes folders left by a process killed while filling them. Uses ctime: unpacking sets mtime to the package's. */
async function removeAbandoned(parent: string): Promise<void> {
  for (const name of await readdir(parent)) {
    if (!name.includes('.partial-')) continue
    const path = join(parent, name)
    const changed = (await stat(path).catch(() => undefined))?.ctimeMs
    if (changed !== undefined && Date.now() - changed > anHour)
      await rm(path, { recursive: true, force: true })
  }
}
