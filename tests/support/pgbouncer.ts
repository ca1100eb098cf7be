import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { appendFile, chmod, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { serverUser } from '../../src/dev/embedded/server-user.ts'
import type { PgbouncerBinary } from './pgbouncer-binary.ts'
import { portToKeep } from './port.ts'
import { eventually } from './wait.ts'

export interface Pgbouncer {
  /** The database's URL, through it. */
  url: string
  stop(): Promise<void>
}

/** @param settings over those of a small pool in transaction mode. */
export async function startPgbouncer(
  binary: PgbouncerBinary,
  databaseUrl: string,
  settings: Record<string, string> = {},
): Promise<Pgbouncer> {
  const { hostname, port: databasePort, username } = new URL(databaseUrl)
  const folder = await mkdtemp(join(tmpdir(), 'pgbouncer-'))
  const port = await portToKeep()
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: String(port),
    unix_socket_dir: '',
    auth_type: 'any',
    pool_mode: 'transaction',
    default_pool_size: '5',
    ...settings,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name} = ${value}`)
  const target = `host=${hostname} port=${databasePort} user=${username}`
  const file = join(folder, 'pgbouncer.ini')
  await writeFile(file, `[databases]\n* = ${target}\n[pgbouncer]\n${lines.join('\n')}\n`)
  await chmod(folder, 0o755)
  const child = spawn(binary.file, [...binary.args, file], {
    ...serverUser(),
    cwd: '/',
    env: binary.env,
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  child.stderr?.on('data', (chunk) => appendFile(join(folder, 'log'), chunk))
  const url = new URL(databaseUrl)
  url.host = `127.0.0.1:${port}`
  await eventually('PgBouncer', () => answers(url.href, child))
  return {
    url: url.href,
    async stop() {
      const exited = once(child, 'exit')
      if (child.exitCode === null) child.kill('SIGINT')
      else return
      await exited
      await rm(folder, { recursive: true })
    },
  }
}

async function answers(url: string, child: ChildProcess): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`PgBouncer ended with code ${child.exitCode}`)
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 1000 })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('select 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
