import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import pg from 'pg'
import { postgresBinaries } from './postgres-binaries.ts'
import { type Embedded, type StartOptions, startServer } from './server-process.ts'
import { serverUser } from './server-user.ts'

const advice = 'Set DATABASE_URL to use another one, e.g. from `docker compose up -d postgres`.'

/** A PostgreSQL to start. */
interface Release {
  binaries: () => Promise<string>
  /** Options of `initdb`. */
  locale: readonly string[]
}

const newest: Release = {
  binaries: postgresBinaries,
  locale: ['--locale-provider=builtin', '--builtin-locale=C.UTF-8'],
}

/** Starts a PostgreSQL with fsync on, as in production, and without a password: it listens on 127.0.0.1 only. */
export async function startPostgres(options: StartOptions, release: Release = newest): Promise<Embedded> {
  const binaries = await release.binaries()
  const data = join(options.folder, 'data')
  const url = (port: number) => `postgres://postgres@127.0.0.1:${port}/postgres`
  return startServer(
    {
      name: 'PostgreSQL',
      program: /^postgres/,
      workingFolder: data,
      pidFile: join(data, 'postmaster.pid'),
      // "Fast" shutdown: ends all sessions, then writes a checkpoint. SIGTERM would wait for the sessions to end.
      stopSignal: 'SIGINT',
      advice,
      async prepare() {
        if (!existsSync(data)) await initialize(binaries, data, options, release.locale)
      },
      command: (port) => ({ file: join(binaries, 'bin/postgres'), args: ['-D', data, ...settings(port)] }),
      url,
      answers: async (port) => (await dataDirectory(url(port))) === data,
    },
    options,
  )
}

function settings(port: number): string[] {
  return Object.entries({
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: 300,
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

/** Initializes under a temporary name and renames, so that a killed run doesn't leave a broken database. */
async function initialize(
  binaries: string,
  data: string,
  { folder, ...options }: StartOptions,
  locale: readonly string[],
): Promise<void> {
  const partial = `${data}.partial`
  await rm(partial, { recursive: true, force: true })
  const args = ['-D', partial, '-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync']
  await new Promise<void>((resolve, reject) => {
    const child = execFile(
      join(binaries, 'bin/initdb'),
      [...args, ...locale],
      { ...serverUser(), cwd: folder, env: { PATH: process.env.PATH, LC_ALL: 'C', TZ: 'UTC' } },
      (error, _, stderr) => {
        if (child.pid) options.reaper.forget(child.pid)
        if (error)
          reject(new Error(`PostgreSQL can't make its data folder. ${advice}\n${stderr}`, { cause: error }))
        else resolve()
      },
    )
    if (child.pid) options.reaper.watch(child.pid, options.folderToRemove)
  })
  await rename(partial, data)
}

async function dataDirectory(url: string): Promise<string | undefined> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2000 })
  // Without a listener, the error of a lost connection would end the process.
  client.on('error', () => {})
  try {
    await client.connect()
    return (await client.query<{ data_directory: string }>('show data_directory')).rows[0]?.data_directory
  } catch {
    return undefined
  } finally {
    await client.end().catch(() => {})
  }
}
