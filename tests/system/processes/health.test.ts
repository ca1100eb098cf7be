import { once } from 'node:events'
import { createServer } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../../src/dev/service-process.ts'
import { testSecrets } from '../../support/service.ts'
import { expectSooner, timed } from '../../support/standstill.ts'
import { freshStores, type Stores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

let reaper: Reaper
let stores: Stores
const started: ServiceProcess[] = []

beforeAll(async () => {
  reaper = startReaper()
  stores = await freshStores()
})
afterAll(async () => {
  await Promise.all(started.map((service) => service.stop()))
  await reaper.close()
})

const entries = {
  api: { entry: 'src/server.ts', readyEvent: 'listening' },
  worker: { entry: 'workers/main.ts', readyEvent: 'working' },
}

async function start(kind: 'api' | 'worker', settings: Record<string, string> = {}) {
  const lines: Record<string, unknown>[] = []
  const environment = {
    ...testSecrets,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ...settings,
  }
  const onLine = (line: string) => line.startsWith('{') && lines.push(JSON.parse(line))
  const service = await startService({ ...entries[kind], environment, reaper, onLine })
  started.push(service)
  const metricsPort = lines.find(({ event }) => event === 'serving_health')?.metricsPort
  return { service, lines, metricsUrl: `http://127.0.0.1:${metricsPort}` }
}

async function ask(url: string) {
  const response = await fetch(url)
  const body = (await response.json()) as Record<string, unknown>
  return { status: response.status, body, headers: response.headers }
}

/** On a slow machine its first connection to PostgreSQL takes a while. */
const ready = (url: string) =>
  eventually('it is ready', async () => {
    const answer = await ask(`${url}/readyz`)
    return answer.status === 200 && answer
  })

test.each(['api', 'worker'] as const)(
  'a running %s lives and is ready, on its metrics port',
  async (kind) => {
    const { metricsUrl } = await start(kind)
    expect(await ask(`${metricsUrl}/healthz`)).toMatchObject({ status: 200, body: { status: 'ok' } })
    expect(await ready(metricsUrl)).toMatchObject({ body: { status: 'ok' } })
    const unknown = await ask(`${metricsUrl}/nothing`)
    expect(Object.keys(unknown.body)).toEqual(['statusCode', 'error', 'message', 'requestId'])
    expect(unknown.status).toBe(404)
  },
)

test.each(['api', 'worker'] as const)(
  'a %s that cannot reach PostgreSQL lives, but is not ready',
  async (kind) => {
    const { metricsUrl } = await start(kind, { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none' })
    expect((await ask(`${metricsUrl}/healthz`)).status).toBe(200)
    const notReady = await ask(`${metricsUrl}/readyz`)
    expect(notReady).toMatchObject({
      status: 503,
      body: {
        statusCode: 503,
        error: 'Service Unavailable',
        message: 'PostgreSQL does not answer; check DATABASE_URL and that it runs.',
      },
    })
    expect(notReady.headers.get('Retry-After')).toBe('1')
  },
)

test('an API reports on its own port, too, that it is ready, and that it is about to end while it still answers', async () => {
  const { service } = await start('api')
  const url = `http://127.0.0.1:${service.ready.port}`
  await ready(url)
  const exited = once(service.child, 'exit')
  service.child.kill('SIGTERM')
  service.child.kill('SIGTERM')
  const draining = await eventually('it drains', async () => {
    const answer = await ask(`${url}/readyz`)
    return answer.status === 503 && answer
  })
  expect(draining.body).toMatchObject({ statusCode: 503, message: 'This process is about to end.' })
  expect(draining.headers.get('Connection')).toBe('close')
  expect((await ask(`${url}/healthz`)).status).toBe(200)
  const { ended, ...span } = await timed(async () => ({ ended: await exited }))
  expect(ended).toEqual([0, null])
  expectSooner(span, 10_000)
})

test('an API whose readiness is never checked ends at once', async () => {
  const { service } = await start('api')
  const span = await timed(async () => ({ ended: await service.stop() }))
  expectSooner(span, 2000)
})

test('a process whose metrics port is in use takes a free one, and logs it', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const { lines, metricsUrl } = await start('worker', { METRICS_PORT: String(port) })
  expect(lines).toContainEqual(expect.objectContaining({ event: 'metrics_port_taken', metricsPort: port }))
  expect((await ask(`${metricsUrl}/healthz`)).status).toBe(200)
  other.close()
})
