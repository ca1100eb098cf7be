import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { SettingsError } from '../../platform/settings/settings.ts'
import { owner } from '../embedded/folder-claim.ts'
import { dataFolder } from '../embedded/index.ts'
import { type Seed, seedDemoAccount } from './seed.ts'

/** Names of the folders with the embedded servers' data: the number of shards in force is in PostgreSQL. */
export const devFolders = { redis: 'dev', cluster: 'dev-cluster' }

/** Stored with the data of the embedded servers, so that the next start can decrypt it. */
interface Kept {
  CREDENTIALS_KEY: string
  API_KEY_PEPPER: string
  seed: Seed
}

/** The folder with the data; undefined if DATABASE_URL names a PostgreSQL that npm run dev didn't start. */
export async function devData(folder: string): Promise<string | undefined> {
  return process.env.DATABASE_URL ? undefined : await dataFolder(folder)
}

/** The secrets and the account of an earlier start; undefined if there are none, or the file can't be read. */
export function readKept(data: string | undefined): Kept | undefined {
  if (data === undefined) return undefined
  try {
    return JSON.parse(readFileSync(join(data, 'secrets.json'), 'utf8'))
  } catch {
    return undefined
  }
}

/** The demo account of the previous start, if the secrets are the same; else a new account, stored for the next start. */
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

/** @throws SettingsError if the embedded servers are running. */
export async function removeDevData(folder: string): Promise<void> {
  const data = await devData(folder)
  if (data === undefined)
    throw new SettingsError(
      '--reset only removes the data of the PostgreSQL that npm run dev starts: unset DATABASE_URL first.',
    )
  for (const server of await readdir(data)) {
    const pid = await owner(join(data, server))
    if (pid === undefined) continue
    throw new SettingsError(`${data} is in use by process ${pid}: stop that process, then reset.`)
  }
  await rm(data, { recursive: true, force: true })
  console.log(`Removed ${data}.`)
}
