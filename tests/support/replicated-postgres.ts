import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { appendFile, chmod, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { v7 as uuidv7 } from 'uuid'
import { migrateDatabase } from '../../db/migrate.ts'
import { dataFolder, type Reaper, startPostgres } from '../../src/dev/embedded/index.ts'
import { signalTree } from './breakable-servers.ts'
import { portToKeep } from './port.ts'
import { eventually } from './wait.ts'

/** A migrated PostgreSQL with a synchronous standby: a commit waits until the standby has it on its disk. */
export interface ReplicatedPostgres {
  primaryUrl: string
  standbyUrl: string
  /** Kills all its processes at once, as if its machine had lost its power. */
  killPrimary(): void
  freezePrimary(): void
  thawPrimary(): void
  /** Resolves once the standby takes writes. It waits for no standby of its own. */
  promoteStandby(): Promise<void>
  stop(): Promise<void>
}

const standbyName = 'standby'

export async function startReplicatedPostgres(reaper: Reaper): Promise<ReplicatedPostgres> {
  const folder = await dataFolder(`replicated-${uuidv7()}`)
  const port = await portToKeep()
  const start = (name: string, choosePort: () => Promise<number>) =>
    startPostgres({ folder: join(folder, name), choosePort, reaper, folderToRemove: folder })

  const first = await start('primary', async () => port)
  await migrateDatabase(first.url)
  await first.stop()
  await copyAsStandby(join(folder, 'primary/data'), join(folder, standbyName), port)
  const primary = await start('primary', async () => port)
  const standby = await start(standbyName, () => portToKeep())
  await waitForStandby(primary.url)
  return {
    primaryUrl: primary.url,
    standbyUrl: standby.url,
    killPrimary() {
      // Frozen before, so that none of its processes is seen to end by the others.
      signalTree(primary.pid, 'SIGSTOP')
      for (const pid of childrenOf(primary.pid)) process.kill(pid, 'SIGKILL')
      process.kill(primary.pid, 'SIGKILL')
    },
    freezePrimary: () => signalTree(primary.pid, 'SIGSTOP'),
    thawPrimary: () => signalTree(primary.pid, 'SIGCONT'),
    async promoteStandby() {
      await query(standby.url, 'select pg_promote()')
    },
    async stop() {
      await Promise.all([primary.stop(), standby.stop()])
      await rm(folder, { recursive: true, force: true })
    },
  }
}

/** Copies a stopped primary, so that the files need no backup mode. */
async function copyAsStandby(data: string, folder: string, primaryPort: number): Promise<void> {
  const own = join(folder, 'data')
  await mkdir(folder, { recursive: true })
  execFileSync('cp', ['-a', data, own])
  const primary = `host=127.0.0.1 port=${primaryPort} user=postgres application_name=${standbyName}`
  await appendFile(join(own, 'postgresql.auto.conf'), `primary_conninfo = '${primary}'\n`)
  await writeFile(join(own, 'standby.signal'), '')
  // It opens the file for writing, also where it runs as another user than this process.
  await chmod(join(own, 'standby.signal'), 0o666)
}

async function waitForStandby(primaryUrl: string): Promise<void> {
  await query(primaryUrl, `alter system set synchronous_standby_names = '${standbyName}'`)
  await query(primaryUrl, 'select pg_reload_conf()')
  await eventually('the synchronous standby', async () => {
    const [standby] = await query(primaryUrl, 'select sync_state from pg_stat_replication')
    return standby?.sync_state === 'sync'
  })
}

async function query(url: string, statement: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {})
  await client.connect()
  try {
    return (await client.query(statement)).rows
  } finally {
    await client.end()
  }
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
  return children.split(' ').filter(Boolean).map(Number)
}
