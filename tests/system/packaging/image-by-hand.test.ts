import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { homedir, tmpdir } from 'node:os'
import { basename, delimiter, dirname, join } from 'node:path'
import { type Copy, DockerfileParser, type From } from 'dockerfile-ast'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { startReaper } from '../../../src/dev/embedded/index.ts'
import { portToKeep } from '../../support/port.ts'
import { testServers } from '../../support/servers.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

const root = join(import.meta.dirname, '../../..')
const instructions = DockerfileParser.parse(readFileSync(join(root, 'Dockerfile'), 'utf8')).getInstructions()
const { services } = parse(readFileSync(join(root, 'docker-compose.yml'), 'utf8'), { merge: true })
const procfile = readFileSync(join(root, 'Procfile'), 'utf8')

/** The exec form, also behind HEALTHCHECK's options. */
function execForm(keyword: string): string[] {
  const text = instructions.find((each) => each.getKeyword() === keyword)?.getArgumentsContent() ?? ''
  return JSON.parse(text.slice(text.indexOf('[')))
}

const commands = {
  migrate: services.migrate.command.map((each: string) => each.replaceAll('$$', '$')),
  api: execForm('CMD'),
  worker: services.worker.command,
  health: execForm('HEALTHCHECK'),
} as Record<string, string[]>

/** Where the last stage's root is. */
let image: string
let folder: string
/** Ends what is left, even if this process is killed. */
const reaper = startReaper()
let environment: Record<string, string>
const path = [dirname(process.execPath), process.env.PATH].join(delimiter)

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'image-by-hand-'))
  chmodSync(folder, 0o755)
  image = buildByHand(folder)
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
}, 300_000)

afterAll(async () => {
  await reaper.close()
  await rm(folder, { recursive: true, force: true })
})

/** Does what the Dockerfile's FROM, WORKDIR, COPY and RUN say, each stage in a folder of its own. */
function buildByHand(parent: string): string {
  const stages = new Map<string, string>()
  let stage = ''
  let workdir = ''
  for (const instruction of instructions) {
    const args = instruction.getArguments().map((each) => each.getValue())
    switch (instruction.getKeyword()) {
      case 'FROM': {
        const name = (instruction as From).getBuildStage() ?? 'final'
        stage = join(parent, name)
        stages.set(name, stage)
        break
      }
      case 'WORKDIR':
        workdir = join(stage, args[0] ?? '')
        mkdirSync(workdir, { recursive: true })
        break
      case 'COPY': {
        const from = stages.get((instruction as Copy).getFromFlag()?.getValue() ?? '') ?? root
        const to = args.at(-1) ?? ''
        for (const source of args.slice(0, -1))
          cpSync(join(from, source), join(workdir, to, to.endsWith('/') ? basename(source) : ''), {
            recursive: true,
          })
        break
      }
      case 'RUN':
        run(instruction.getArgumentsContent() ?? '', workdir)
    }
  }
  return workdir
}

function run(command: string, cwd: string): void {
  const { NODE_ENV, VITEST, ...env } = process.env
  // The cache spares the registry what npm ci has fetched before; the packages are the same.
  const options = {
    cwd,
    encoding: 'utf8',
    env: { ...env, PATH: path, npm_config_prefer_offline: 'true' },
  } as const
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], options)
  if (status !== 0) throw new Error(`${command}: exit code ${status}\n${stdout}\n${stderr}`)
}

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

type Line = Record<string, unknown>

function start([program = '', ...args]: string[], changes: Record<string, string> = {}) {
  const child = spawn(program, args, {
    cwd: image,
    env: { ...environment, ...changes },
    ...user,
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${program} can't be started`)
  reaper.watch(pid)
  const lines: Line[] = []
  let output = ''
  const exited = once(child, 'exit')
  child.stderr.on('data', (chunk: Buffer) => {
    output += chunk
  })
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk).split('\n')
    rest = parts.pop() ?? ''
    output += chunk
    for (const part of parts) if (part.startsWith('{')) lines.push(JSON.parse(part))
  })
  const ended = async () => {
    const [code] = await exited
    reaper.forget(pid)
    return { code, output }
  }
  return {
    lines,
    ended,
    event: (name: string) =>
      eventually(
        `${args.join(' ')}: ${name}, but ${output}`,
        async () => lines.find(({ event }) => event === name),
        60_000,
      ),
    async stop() {
      child.kill('SIGTERM')
      return (await ended()).code
    },
  }
}

test('the files of the image run without the sources and without development dependencies', () => {
  expect(readdirSync(image).sort()).toEqual(['dist', 'node_modules', 'package.json'])
  expect(existsSync(join(image, 'dist/db/migrations/meta/_journal.json'))).toBe(true)
  expect(existsSync(join(image, 'dist/src/dev'))).toBe(false)
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
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
  const REDIS_URL = 'redis://redis:6379'
  expect(await start(commands.migrate ?? [], { REDIS_URL }).ended()).toMatchObject({
    code: 0,
    output: expect.stringContaining('"migrated"'),
  })
})

test.each(['api', 'worker'])(
  'the %s gets healthy by the check of the image, gets ready, and exits with 0 at SIGTERM',
  async (name) => {
    const METRICS_PORT = String(await portToKeep())
    const healthy = async () => (await start(commands.health ?? [], { METRICS_PORT }).ended()).code === 0
    expect(await healthy()).toBe(false)
    const service = start(commands[name] ?? [], { METRICS_PORT })
    await service.event(name === 'api' ? 'listening' : 'working')
    expect(await healthy()).toBe(true)
    await eventually('ready', async () => (await fetch(`http://127.0.0.1:${METRICS_PORT}/readyz`)).ok)
    expect(await service.stop()).toBe(0)
  },
)

test.each(['web', 'worker'])(
  'the Procfile starts a %s with its health 1000 above PORT, which ends at SIGTERM',
  async (type) => {
    const command = new RegExp(`^${type}: (.*)$`, 'm').exec(procfile)?.[1] ?? ''
    const port = await portToKeep(1000)
    const metricsPort = port + 1000
    const service = start(['sh', '-c', command], { PORT: String(port) })
    expect(await service.event('serving_health')).toMatchObject({ metricsPort })
    await service.event(type === 'web' ? 'listening' : 'working')
    expect((await fetch(`http://127.0.0.1:${metricsPort}/healthz`)).ok).toBe(true)
    expect(await service.stop()).toBe(0)
  },
)

test('the CLI of the image makes an account', async () => {
  const line = 'node dist/src/cli/main.js account create --name Acme --json'
  const { code, output } = await start(line.split(' ')).ended()
  expect({ code, answer: JSON.parse(output) }).toEqual({ code: 0, answer: { accountId: expect.any(String) } })
})
