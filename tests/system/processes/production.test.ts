import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Seed, seedDemoAccount } from '../../../src/dev/world/seed.ts'
import { testServers } from '../../support/servers.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

let environment: Record<string, string>

function run(script: string, env: Record<string, string> = environment) {
  const options = { env: { ...process.env, ...env }, encoding: 'utf8' } as const
  return spawnSync('npm', ['run', '-s', script], options)
}

beforeAll(async () => {
  const { redisUrl } = await freshStores()
  environment = {
    ...testSecrets,
    DATABASE_URL: await emptyDatabase(),
    REDIS_URL: redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ADMIN_PORT: '0',
  }
  expect(run('build')).toMatchObject({ status: 0 })
})

async function emptyDatabase(): Promise<string> {
  const url = new URL((await testServers()).postgresUrl)
  const client = new pg.Client({ connectionString: url.href.replace(/\/[^/]*$/, '/template1') })
  await client.connect()
  await client.query('create database production template template0')
  await client.end()
  url.pathname = '/production'
  return url.href
}

test.each(['migrate', 'start', 'worker', 'admin'])(
  'without its settings npm run %s says all that is missing, and exits with 1',
  (script) => {
    const { status, stderr } = run(script, {
      DATABASE_URL: '',
      REDIS_URL: '',
      CREDENTIALS_KEY: '',
      API_KEY_PEPPER: '',
    })
    expect(status).toBe(1)
    expect(stderr).toContain('DATABASE_URL is not set')
    if (script !== 'migrate') expect(stderr).toContain('REDIS_URL is not set')
    if (!['migrate', 'admin'].includes(script)) expect(stderr).toMatch(/CREDENTIALS_KEY.*\n.*API_KEY_PEPPER/)
  },
)

test('npm run migrate fails without a database', () => {
  const away = { ...environment, DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' }
  expect(run('migrate', away).status).toBe(1)
})

test('concurrent migrations run one after another, and a repeated one changes nothing', async () => {
  const migrations = Array.from({ length: 3 }, () =>
    once(
      spawn('npm', ['run', '-s', 'migrate'], { env: { ...process.env, ...environment }, stdio: 'ignore' }),
      'exit',
    ),
  )
  expect((await Promise.all(migrations)).map(([code]) => code)).toEqual([0, 0, 0])
  expect(run('migrate').status).toBe(0)
})

test('the built API and worker deliver a send that the built admin process shows, and exit with 0 at SIGTERM', async () => {
  const seed = await seedDemoAccount(environment)
  const api = start('dist/src/server.js')
  const worker = start('dist/workers/main.js')
  const admin = start('dist/src/admin/main.js', { CREDENTIALS_KEY: '', API_KEY_PEPPER: '' })
  try {
    const { port } = await api.event('listening')
    await worker.event('working')
    const requestId = await sendTo(`http://127.0.0.1:${port}/v1/messages`, seed)
    await worker.event('sent')
    expect(worker.lines.filter((line) => line.requestId === requestId).at(-1)).toMatchObject({
      event: 'sent',
    })
    const { adminPort } = await admin.event('serving_admin')
    const page = await fetch(`http://127.0.0.1:${adminPort}/support/${requestId}`)
    expect(await page.text()).toContain('Accepted by the provider')
    const styles = await fetch(`http://127.0.0.1:${adminPort}/admin.css`)
    expect(styles.headers.get('content-type')).toContain('text/css')
  } finally {
    expect([await api.stop(), await worker.stop(), await admin.stop()]).toEqual([0, 0, 0])
  }
})

/** The body is large enough for the parser thread, whose file has to be in the build. */
async function sendTo(url: string, { apiKey, channelId }: Seed): Promise<string> {
  const message = { type: 'text', text: { value: 'Hello' } }
  // The first one of a process may be a 503 on a slow machine.
  const response = await eventually('an accept', async () => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { Authorization: `Bearer ${apiKey}`, 'Content-Type': 'application/json' },
      body: JSON.stringify({ channelId, contact: { value: '+4915112345678' }, message }).padEnd(200_000),
    })
    return answer.status !== 503 && answer
  })
  expect(response.status).toBe(202)
  return ((await response.json()) as { requestId: string }).requestId
}

const children: ChildProcess[] = []
afterAll(() => {
  for (const child of children) child.kill('SIGKILL')
})

type Line = Record<string, unknown>

function start(entry: string, settings: Record<string, string> = {}) {
  const child = spawn(process.execPath, [entry], { env: { ...process.env, ...environment, ...settings } })
  children.push(child)
  const lines: Line[] = []
  const exited = once(child, 'exit')
  let rest = ''
  child.stdout.on('data', (chunk: Buffer) => {
    const parts = (rest + chunk.toString()).split('\n')
    rest = parts.pop() ?? ''
    for (const line of parts) lines.push(JSON.parse(line))
  })
  return {
    lines,
    event: (name: string) =>
      eventually(`${entry}: ${name}`, async () => lines.find(({ event }) => event === name)),
    async stop(): Promise<number | null> {
      child.kill('SIGTERM')
      await exited
      return child.exitCode
    },
  }
}
