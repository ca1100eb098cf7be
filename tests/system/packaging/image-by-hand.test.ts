import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, existsSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import pg from 'pg'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { type Command, startCommand } from '../../support/command.ts'
import { portToKeep } from '../../support/port.ts'
import { testServers } from '../../support/servers.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

const root = join(import.meta.dirname, '../../..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const inDockerfile = (pattern: RegExp) => pattern.exec(read('Dockerfile'))?.[1] ?? ''
const { services } = parse(read('docker-compose.yml'), { merge: true })

const commands: Record<string, string[]> = {
  migrate: services.migrate.command.map((each: string) => each.replaceAll('$$', '$')),
  api: JSON.parse(inDockerfile(/^CMD (.*)$/m)),
  worker: services.worker.command,
  health: JSON.parse(inDockerfile(/^HEALTHCHECK .*\\\n +CMD (.*)$/m)),
}

/** Contents of the image: the build, package.json and the dependencies of production. packaging.test.ts holds the Dockerfile to that. */
let image: string
let environment: Record<string, string>
const started: Command[] = []
const path = [dirname(process.execPath), process.env.PATH].join(delimiter)

beforeAll(async () => {
  image = await mkdtemp(join(tmpdir(), 'image-by-hand-'))
  chmodSync(image, 0o755)
  cpSync(String(process.env.SERVICE_BUILD), join(image, 'dist'), { recursive: true })
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(root, file), join(image, file))
  const { NODE_ENV, VITEST, ...env } = process.env
  // The cache spares the registry what npm ci has fetched before; the packages are the same.
  const npmEnv = { ...env, PATH: path, npm_config_prefer_offline: 'true' }
  const install = inDockerfile(/^RUN (npm ci .*--omit=dev.*)$/m)
  expect(spawnSync('sh', ['-c', install], { cwd: image, env: npmEnv, encoding: 'utf8' })).toMatchObject({
    status: 0,
  })
  const { redisUrl } = await freshStores()
  environment = {
    ...testSecrets,
    // The migration of the Compose file asks for it on behalf of the admin process.
    ADMIN_PASSWORD: 'a password of tests',
    PATH: path,
    NODE_ENV: 'production',
    DATABASE_URL: await emptyDatabase(),
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
  }
})
afterEach(() => {
  for (const command of started.splice(0)) command.kill()
})
afterAll(() => rm(image, { recursive: true, force: true }))

async function emptyDatabase(): Promise<string> {
  const url = new URL((await testServers()).postgresUrl)
  const client = new pg.Client({ connectionString: url.href.replace(/\/[^/]*$/, '/template1') })
  await client.connect()
  await client.query('create database image_by_hand template template0')
  await client.end()
  url.pathname = '/image_by_hand'
  return url.href
}

/** The image's user where this test may become it (root), and where that user can reach this Node. */
const user =
  process.getuid?.() === 0 && !process.execPath.startsWith(homedir()) ? { uid: 1000, gid: 1000 } : {}

function start(command: string[] = [], changes: Record<string, string> = {}): Command {
  const env = { ...environment, ...changes }
  const one = startCommand(command, { cwd: image, env, terminal: false, ...user })
  started.push(one)
  return one
}

async function stop(service: Command): Promise<void> {
  service.signal('SIGTERM')
  expect(await service.ended()).toEqual({ code: 0, outlivedBy: [] })
}

test('the files of the image run without the sources and without development dependencies', () => {
  expect(existsSync(join(image, 'dist/src/dev'))).toBe(false)
  const { packages } = JSON.parse(read('package-lock.json'))
  const { dependencies, devDependencies } = packages['']
  const isInstalled = (name: string) => existsSync(join(image, 'node_modules', name))
  for (const name of Object.keys(dependencies)) expect(isInstalled(name), name).toBe(true)
  // One that a production dependency needs too is not marked dev.
  const dev = Object.keys(devDependencies).filter((name) => {
    const { dev, devOptional } = packages[`node_modules/${name}`]
    return dev || devOptional
  })
  expect(dev).toContain('typescript')
  for (const name of dev) expect(isInstalled(name), name).toBe(false)
})

test('the migration brings an empty database to the schema', async () => {
  // It refuses one that no container reaches, and doesn't use it.
  const migration = start(commands.migrate, { REDIS_URL: 'redis://redis:6379' })
  expect(await migration.ended()).toMatchObject({ code: 0 })
  expect(migration.output()).toContain('"migrated"')
})

test.each(['api', 'worker'])(
  'the %s gets healthy by the check of the image, gets ready, and exits with 0 at SIGTERM',
  async (name) => {
    const METRICS_PORT = String(await portToKeep())
    const healthy = async () => (await start(commands.health, { METRICS_PORT }).ended()).code === 0
    expect(await healthy()).toBe(false)
    const service = start(commands[name], { METRICS_PORT })
    await service.logged(name === 'api' ? 'listening' : 'working')
    expect(await healthy()).toBe(true)
    await eventually('ready', async () => (await fetch(`http://127.0.0.1:${METRICS_PORT}/readyz`)).ok)
    await stop(service)
  },
)

test.each(['web', 'worker'])(
  'the Procfile starts a %s with its health 1000 above PORT, which ends at SIGTERM',
  async (type) => {
    const command = new RegExp(`^${type}: (.*)$`, 'm').exec(read('Procfile'))?.[1] ?? ''
    const port = await portToKeep(1000)
    const service = start(['sh', '-c', command], { PORT: String(port) })
    expect(await service.logged('serving_health')).toMatchObject({ metricsPort: port + 1000 })
    await service.logged(type === 'web' ? 'listening' : 'working')
    expect((await fetch(`http://127.0.0.1:${port + 1000}/healthz`)).ok).toBe(true)
    await stop(service)
  },
)

test('the API of the image serves the guides, although neither their source nor what renders them is in it', async () => {
  expect(existsSync(join(image, 'docs'))).toBe(false)
  for (const name of ['marked', 'shiki']) expect(existsSync(join(image, 'node_modules', name))).toBe(false)
  const api = start(commands.api, { METRICS_PORT: '0' })
  const { port } = await api.logged('listening')
  for (const page of ['docs', 'docs/first-send', 'docs/docs.css', 'docs/docs.js', 'docs/search?q=retry'])
    expect((await fetch(`http://127.0.0.1:${port}/${page}`)).status, page).toBe(200)
  const sample = await (await fetch(`http://127.0.0.1:${port}/docs/send-message`)).text()
  expect(sample).toContain('<span class="string')
  await stop(api)
})

test('the CLI of the image makes an account', async () => {
  const cli = start('./dist/src/cli/main.js account create --name Acme --json'.split(' '))
  expect(await cli.ended()).toMatchObject({ code: 0 })
  expect(JSON.parse(cli.output())).toEqual({ accountId: expect.any(String) })
})
