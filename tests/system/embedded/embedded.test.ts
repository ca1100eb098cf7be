import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { cp, mkdtemp, readdir, rm, rmdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import pg from 'pg'
import { expect, onTestFinished, test, vi } from 'vitest'
import { cached, cacheFolder } from '../../../src/dev/embedded/cache-folder.ts'
import { freePort } from '../../../src/dev/embedded/free-port.ts'
import {
  dataFolder,
  startEmbedded,
  startPostgres,
  startReaper,
  startRedis,
} from '../../../src/dev/embedded/index.ts'

const checkout = join(import.meta.dirname, '../../..')
const both = { postgres: true, redis: true }
const answersWithinMs = 60_000
const onlyOnce = {
  retryStrategy: () => null,
  connectTimeout: answersWithinMs,
  commandTimeout: answersWithinMs,
}
const cleanEnv = { ...process.env, NODE_OPTIONS: '' }

test('both servers are ready when the start returns, and gone when the stop does', async () => {
  const { databaseUrl = '', redisUrl = '', stop } = await startEmbedded({ needs: both })
  const isUp = await watch({ databaseUrl, redisUrl })
  expect(await ask(databaseUrl, 'show fsync')).toBe('on')
  expect(await ask(databaseUrl, 'show max_connections')).toBe('300')
  expect(await config(redisUrl, 'maxmemory-policy', 'appendonly', 'databases', 'save')).toEqual({
    'maxmemory-policy': 'noeviction',
    appendonly: 'yes',
    databases: '1024',
    save: '',
  })
  const folder = await ask(databaseUrl, 'show data_directory')

  await stop()

  expect(await isUp()).toEqual({ postgres: false, redis: false })
  expect(existsSync(join(folder, '../..'))).toBe(false)
})

test('only what is needed starts', async () => {
  const servers = await startEmbedded({ needs: { postgres: false, redis: true } })
  expect(servers).not.toHaveProperty('databaseUrl')
  await servers.stop()
})

test('a second start on the same folder keeps the data', async () => {
  const folder = await aName()
  const first = await startEmbedded({ folder, needs: both })
  await write(first, 'kept')
  await first.stop()

  const second = await startEmbedded({ folder, needs: both })
  expect(await read(second)).toEqual(['kept', 'kept'])
  await second.stop()
})

test('a parent killed with SIGKILL leaves no server behind, nor its temporary folder', async () => {
  const parent = await hold(checkout, { needs: both })
  const folder = await ask(parent.databaseUrl, 'show data_directory')

  parent.kill('SIGKILL')

  await vi.waitFor(
    async () => {
      expect(await parent.isUp()).toEqual({ postgres: false, redis: false })
      expect(existsSync(join(folder, '../..'))).toBe(false)
    },
    { timeout: 200_000, interval: 50 },
  )
})

test('a parent that just ends, without a stop, leaves no server behind', async () => {
  const parent = await hold(checkout, { needs: both })
  parent.kill('SIGTERM')
  await vi.waitFor(async () => expect(await parent.isUp()).toMatchObject({ postgres: false }), {
    timeout: 200_000,
  })
})

test('an orphaned postmaster does not stop the next start, nor does an orphaned Redis', async () => {
  const folder = await aName()
  const parent = await hold(checkout, { folder, orphans: true })
  await write(parent, 'kept')
  await sleep(1100) // what appendfsync everysec may lose
  parent.kill('SIGKILL')
  await parent.ended
  expect(await parent.isUp()).toEqual({ postgres: true, redis: true })

  const next = await startEmbedded({ folder, needs: both })

  expect(await parent.isUp()).toEqual({ postgres: false, redis: false })
  expect(await read(next)).toEqual(['kept', 'kept'])
  await next.stop()
})

test('a start right after the parent was killed keeps the data, while the reaper still works', async () => {
  const folder = await aName()
  const parent = await hold(checkout, { folder, needs: both })
  await write(parent, 'kept')
  await sleep(1100)
  parent.kill('SIGKILL')
  await parent.ended

  const next = await startEmbedded({ folder, needs: both })
  expect(await read(next)).toEqual(['kept', 'kept'])
  await next.stop()
})

test('a pid file that names an unrelated process harms neither that process nor the start', async () => {
  const folder = await aName()
  await (await startEmbedded({ folder, needs: both })).stop()
  const stranger = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'ignore' })
  onTestFinished(() => void stranger.kill())
  const data = await dataFolder(folder)
  await writeFile(join(data, 'postgres/data/postmaster.pid'), `${stranger.pid}\n`)
  await writeFile(join(data, 'redis/redis.pid'), `${stranger.pid}\n`)

  const servers = await startEmbedded({ folder, needs: both })
  expect(stranger.exitCode ?? stranger.signalCode).toBe(null)
  await servers.stop()
})

test('a folder in use is refused, and its servers keep running', async () => {
  const folder = await aName()
  const parent = await hold(checkout, { folder, needs: both })

  await expect(startEmbedded({ folder, needs: both })).rejects.toThrow(
    `in use by process ${parent.pid}: stop that process first`,
  )

  expect(await parent.isUp()).toMatchObject({ postgres: true })
  await parent.stop()
})

test("two checkouts start at once, and don't affect each other", async () => {
  const folder = await aName()
  const paths = [await aCheckout(), await aCheckout()] as const
  const [one, two] = await Promise.all([
    hold(paths[0], { folder, needs: both }),
    hold(paths[1], { folder, needs: both }),
  ])
  await Promise.all([write(one, 'one'), write(two, 'two')])

  expect(await read(one)).toEqual(['one', 'one'])
  expect(await read(two)).toEqual(['two', 'two'])
  await Promise.all([one, two].map((parent) => parent.stop()))
})

test.each([
  ['PostgreSQL', startPostgres],
  ['Redis', startRedis],
])('%s takes another port when the one it chose is taken', async (_, start) => {
  const occupant = createServer().listen(0, '127.0.0.1')
  await once(occupant, 'listening')
  const { port } = occupant.address() as AddressInfo
  const ports = [port, port, await freePort()]
  const reaper = startReaper()

  const folder = join(await dataFolder(await aName()), 'server')
  const server = await start({ folder, reaper, choosePort: async () => ports.shift() ?? freePort() })

  expect(new URL(server.url).port).not.toBe(String(port))
  expect(ports).toEqual([])
  await server.stop()
  await reaper.close()
  occupant.close()
})

test('Ctrl-C in the terminal reaches neither the servers nor the reaper', async () => {
  const parent = await hold(checkout, { needs: both }, { detached: true })
  process.kill(-parent.pid, 'SIGSTOP') // so that the parent itself doesn't end of it
  process.kill(-parent.pid, 'SIGINT')
  await sleep(300)
  expect(await ask(parent.databaseUrl, 'select 1::text')).toBe('1')
  expect(await parent.isUp()).toMatchObject({ redis: true })
  process.kill(-parent.pid, 'SIGKILL')
  await vi.waitFor(async () => expect(await parent.isUp()).toMatchObject({ postgres: false }), {
    timeout: 200_000,
  })
})

test('the reaper ends watched processes, not forgotten ones, and kills those that ignore SIGTERM', async () => {
  const deaf = spawn(process.execPath, [
    '-e',
    `process.on('SIGTERM', () => {}); console.log(); setInterval(() => {}, 1000)`,
  ])
  const forgotten = spawn(process.execPath, ['-e', 'console.log(); setInterval(() => {}, 1000)'])
  onTestFinished(() => void [deaf, forgotten].map((child) => child.kill('SIGKILL')))
  await Promise.all([deaf, forgotten].map((child) => once(child.stdout, 'data')))
  const folder = await mkdtemp(join(tmpdir(), 'reaped-'))
  const reaper = startReaper()
  reaper.watch(deaf.pid as number, folder)
  reaper.watch(forgotten.pid as number)
  reaper.forget(forgotten.pid as number)

  const ended = once(deaf, 'exit')
  await reaper.close()

  expect(await ended).toEqual([null, 'SIGKILL'])
  expect(existsSync(folder)).toBe(false)
  expect(forgotten.exitCode ?? forgotten.signalCode).toBe(null)
})

test('two that fill the cache at once get the same whole folder, and leave nothing else', async () => {
  const name = `test-${randomBytes(6).toString('hex')}`
  onTestFinished(() => rm(join(cacheFolder(), 'bin', name), { recursive: true, force: true }))
  const fill = async (folder: string) => {
    await writeFile(join(folder, 'one'), '1')
    await sleep(50)
    await writeFile(join(folder, 'two'), '2')
    await utimes(folder, 0, 0) // as unpacking a package does
  }
  const folders = await Promise.all([cached(name, fill), cached(name, fill), cached(name, fill)])

  expect(new Set(folders).size).toBe(1)
  expect(await readdir(folders[0])).toEqual(['one', 'two'])
  expect((await readdir(join(cacheFolder(), 'bin'))).filter((entry) => entry.startsWith(`${name}.`))).toEqual(
    [],
  )
})

test('a failure to fill the cache is reported, and tried again the next time', async () => {
  const name = `test-${randomBytes(6).toString('hex')}`
  onTestFinished(() => rm(join(cacheFolder(), 'bin', name), { recursive: true, force: true }))
  await expect(cached(name, () => Promise.reject(new Error('no network')))).rejects.toThrow('no network')
  expect(existsSync(await cached(name, async () => {}))).toBe(true)
})

interface Urls {
  databaseUrl?: string
  redisUrl?: string
}

/** Starts tests/system/embedded/holder.ts, which runs the code of that checkout, and waits until its servers are up. */
async function hold(path: string, wish: object, options: { detached?: boolean } = {}) {
  const holder = join(import.meta.dirname, 'holder.ts')
  const child = spawn(process.execPath, ['--import', 'tsx', holder, path, JSON.stringify(wish)], {
    ...options,
    cwd: checkout,
    env: cleanEnv,
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  for await (const line of createInterface({ input: child.stdout })) {
    const urls: Required<Urls> = JSON.parse(line)
    const stop = async () => {
      child.stdin.write('stop\n')
      expect(await ended).toEqual([0, null])
    }
    return {
      ...urls,
      isUp: await watch(urls),
      pid: child.pid as number,
      ended,
      stop,
      kill: (signal: NodeJS.Signals) => child.kill(signal),
    }
  }
  throw new Error(`${holder} ended before its servers were up: see its error above.`)
}

/** A name for a persistent folder, which is removed after the test in every checkout. */
async function aName(): Promise<string> {
  const name = `test-${randomBytes(6).toString('hex')}`
  onTestFinished(async () => {
    const checkouts = dirname(dirname(await dataFolder(name)))
    for (const key of await readdir(checkouts)) {
      await rm(join(checkouts, key, name), { recursive: true, force: true, maxRetries: 5 })
      await rmdir(join(checkouts, key)).catch(() => {}) // unless it holds something else
    }
  })
  return name
}

/** As much of a second checkout as a start of the servers needs. */
async function aCheckout(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), 'checkout-'))
  onTestFinished(() => rm(path, { recursive: true, force: true }))
  await cp(join(checkout, 'src'), join(path, 'src'), { recursive: true })
  await cp(join(checkout, 'package.json'), join(path, 'package.json'))
  await symlink(join(checkout, 'node_modules'), join(path, 'node_modules'))
  return path
}

async function ask(databaseUrl: string, sql: string): Promise<string> {
  const client = new pg.Client({ connectionString: databaseUrl, connectionTimeoutMillis: answersWithinMs })
  // A server that is being stopped says so here, too; unheard, it would end this process.
  client.on('error', () => {})
  await client.connect()
  try {
    const { rows } = await client.query({ text: sql, rowMode: 'array' })
    return rows[0]?.[0]
  } finally {
    await client.end()
  }
}

async function withRedis<T>(redisUrl: string, use: (redis: Redis) => Promise<T>): Promise<T> {
  const redis = new Redis(redisUrl)
  const result = await use(redis)
  await redis.quit()
  return result
}

async function config(redisUrl: string, ...names: string[]): Promise<Record<string, string>> {
  return withRedis(redisUrl, async (redis) => {
    const entries: [string, string][] = []
    for (const name of names) {
      const answer = await redis.config('GET', name)
      const value = Array.isArray(answer) ? answer[1] : (answer as Record<string, string>)[name]
      entries.push([name, String(value)])
    }
    return Object.fromEntries(entries)
  })
}

async function write({ databaseUrl = '', redisUrl = '' }: Urls, value: string): Promise<void> {
  await ask(databaseUrl, `create table notes as select '${value}' as note`)
  await withRedis(redisUrl, (redis) => redis.set('note', value))
}

async function read({ databaseUrl = '', redisUrl = '' }: Urls) {
  return [
    await ask(databaseUrl, 'select note from notes'),
    await withRedis(redisUrl, (redis) => redis.get('note')),
  ]
}

/** Returns whether the same two processes still answer there: another process may take a port that became free. */
async function watch({ databaseUrl, redisUrl }: Required<Urls>) {
  const postgres = await startTimeOf(databaseUrl)
  const redis = await runIdOf(redisUrl)
  return async () => ({
    postgres: (await startTimeOf(databaseUrl).catch(() => undefined)) === postgres,
    redis: (await runIdOf(redisUrl).catch(() => undefined)) === redis,
  })
}

const startTimeOf = (databaseUrl: string) => ask(databaseUrl, 'select pg_postmaster_start_time()::text')

async function runIdOf(redisUrl: string): Promise<string> {
  const redis = new Redis(redisUrl, { ...onlyOnce, lazyConnect: true })
  redis.on('error', () => {})
  try {
    await redis.connect()
    const [, id = ''] = /run_id:(\w+)/.exec(await redis.info('server')) ?? []
    return id
  } finally {
    redis.disconnect()
  }
}
