import { randomBytes } from 'node:crypto'
import { readdir, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { dataFolder } from './cache-folder.ts'
import { owner } from './folder-claim.ts'

const aDay = 86_400_000
const prefix = 'temporary-'

/** A new data folder for one run. Also removes folders of runs that ended more than a day ago without removing theirs. */
export async function temporaryFolder(): Promise<string> {
  const folder = await dataFolder(prefix + randomBytes(6).toString('hex'))
  for (const name of await readdir(dirname(folder))) {
    const other = join(dirname(folder), name)
    if (name.startsWith(prefix) && (await isAbandoned(other)))
      await rm(other, { recursive: true, force: true })
  }
  return folder
}

async function isAbandoned(folder: string): Promise<boolean> {
  const changed = (await stat(folder).catch(() => undefined))?.ctimeMs
  if (changed === undefined || Date.now() - changed < aDay) return false
  const owners = await Promise.all((await readdir(folder)).map((server) => owner(join(folder, server))))
  return owners.every((pid) => pid === undefined)
}
