import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { appendFile, mkdir, mkdtemp, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { migrateDatabase } from '../../db/migrate.ts'
import { dataFolder, type Embedded, type Reaper, startPostgres } from '../../src/dev/embedded/index.ts'

/** To sync is most of what a short commit costs. A database is emptied before it holds much to vacuum. */
const settings = 'fsync = off\nautovacuum = off\n'

const copy = (from: string, to: string) => promisify(execFile)('cp', ['-a', from, to])

/**
 * A PostgreSQL whose database `postgres` is migrated. Its data folder is a copy of one that an earlier run made for the
 * same migrations: to create it takes longer than everything else that a test run starts.
 *
 * @param folder removed by the caller.
 */
export async function startMigratedPostgres(folder: string, reaper: Reaper): Promise<Embedded> {
  const made = await madeOnce(reaper)
  const own = join(folder, 'postgres')
  await mkdir(own, { recursive: true })
  await copy(join(made, 'data'), join(own, 'data'))
  await appendFile(join(own, 'data/postgresql.auto.conf'), settings)
  return await startPostgres({ folder: own, reaper, folderToRemove: folder })
}

/** Made under another name and renamed, so that no other run finds an unfinished one. */
async function madeOnce(reaper: Reaper): Promise<string> {
  const parent = await dataFolder('migrated')
  const made = join(parent, fingerprint())
  if (existsSync(made)) return made
  const folder = await mkdtemp(join(parent, 'partial-'))
  const postgres = await startPostgres({ folder, reaper, folderToRemove: folder })
  await migrateDatabase(postgres.url)
  await postgres.stop()
  for (const old of readdirSync(parent)) {
    // Another run may have made the same one, and copy it.
    if (!old.startsWith('partial-') && join(parent, old) !== made)
      await rm(join(parent, old), { recursive: true, force: true })
  }
  // Another run may have been faster.
  await rename(folder, made).catch(() => rm(folder, { recursive: true }))
  return made
}

/** Fingerprint of everything that the data folder depends on. */
function fingerprint(): string {
  const hash = createHash('sha256')
  const migrations = readdirSync('db/migrations', { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.(sql|json)$/.test(file))
    .map((file) => join('db/migrations', file))
  const files = [
    'package-lock.json',
    'db/migrate.ts',
    'db/delivery/phone-zones.ts',
    'src/dev/embedded/postgres.ts',
    ...migrations.sort(),
  ]
  for (const file of files) hash.update(readFileSync(file))
  return hash.digest('hex').slice(0, 16)
}
