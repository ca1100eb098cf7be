import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { promisify } from 'node:util'
import type { seedDemoAccount } from '../../src/dev/world/seed.ts'
import { testSecrets } from '../support/service.ts'

/** The folder that `npm run build` made in the checkout of an earlier release. */
export const buildOf = (checkout: string): string => join(checkout, 'dist')

/** Migrates with the migrations of the earlier release. */
export const migrateWith =
  (checkout: string) =>
  async (databaseUrl: string): Promise<void> => {
    const env = { ...process.env, ...testSecrets, DATABASE_URL: databaseUrl }
    await promisify(execFile)(process.execPath, [join(buildOf(checkout), 'src/migrate.js')], { env })
  }

/** Where releases have it: the present one, and those before folders were named for nouns. */
const seeds = ['src/dev/world/seed.ts', 'src/dev/seed.ts']

/** Creates an account as the earlier release does: its tables may lack what this build writes. */
export async function formerSeed(checkout: string): Promise<typeof seedDemoAccount> {
  const paths = seeds.map((path) => join(checkout, path))
  const found = paths.find((path) => existsSync(path))
  if (!found)
    throw new Error(
      `--upgrade-from ${checkout}: has none of ${seeds.join(', ')}; add where that release has its seed`,
    )
  return (await import(pathToFileURL(found).href)).seedDemoAccount
}
