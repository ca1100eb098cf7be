import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SettingsError } from '../platform/settings.ts'
import { owner } from './embedded/folder-claim.ts'
import { dataFolder } from './embedded/index.ts'
import { type Seed, seedDemoAccount } from './seed.ts'

/** Of the folder with the embedded servers' data. */
export const devFolder = 'dev'

/** Kept with the data of the embedded servers, so that what they hold can be read the next time. */
interface Kept {
  CREDENTIALS_KEY: string
  API_KEY_PEPPER: string
  seed: Seed
}

/** Where the data is; undefined where it is in a PostgreSQL that somebody else runs. */
export async function devData(): Promise<string | undefined> {
  return process.env.DATABASE_URL ? undefined : await dataFolder(devFolder)
}

/** What an earlier start kept; undefined where nothing is, or it can't be read: then all is made anew. */
export function readKept(data: string | undefined): Kept | undefined {
  if (data === undefined) return undefined
  try {
    return JSON.parse(readFileSync(join(data, 'secrets.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** The demo account of the start before, where its key is still good, else a new one, kept for the next start. */
export async function keptSeed(
  environment: Record<string, string>,
  data: string | undefined,
  kept = readKept(data),
): Promise<Seed> {
  const { CREDENTIALS_KEY = '', API_KEY_PEPPER = '' } = environment
  if (kept?.CREDENTIALS_KEY === CREDENTIALS_KEY && kept.API_KEY_PEPPER === API_KEY_PEPPER) return kept.seed
  const seed = await seedDemoAccount(environment)
  if (data !== undefined) keep(join(data, 'secrets.json'), { CREDENTIALS_KEY, API_KEY_PEPPER, seed })
  return seed
}

function keep(file: string, kept: Kept): void {
  writeFileSync(`${file}.new`, JSON.stringify(kept), { mode: 0o600 })
  renameSync(`${file}.new`, file)
}

/** Of the embedded servers, which must not be running. */
export async function removeDevData(): Promise<void> {
  const data = await devData()
  if (data === undefined)
    throw new SettingsError(
      '--reset removes the data of the PostgreSQL that npm run dev starts by itself: unset DATABASE_URL for it.',
    )
  for (const server of ['postgres', 'redis']) {
    const pid = await owner(join(data, server))
    if (pid === undefined) continue
    throw new SettingsError(`${data} is in use by process ${pid}: stop that first, then reset.`)
  }
  await rm(data, { recursive: true, force: true })
  console.log(`Removed ${data}.`)
}
