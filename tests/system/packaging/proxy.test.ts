import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { migrateDatabase } from '../../../db/migrate.ts'
import { type Binary, debianBinary } from '../../../src/dev/embedded/debian-binary.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { type ServiceProcess, startService } from '../../../src/dev/service-process.ts'
import { type NameServer, startNameServer } from '../../support/name-server.ts'
import { portToKeep } from '../../support/port.ts'
import { testSecrets } from '../../support/service.ts'
import { freshStores, type Stores } from '../../support/stores.ts'
import { eventually } from '../../support/wait.ts'

const config = readFileSync(join(import.meta.dirname, '../../../ops/haproxy.cfg'), 'utf8')
const withinMs = 60_000

let haproxy: Binary
let stores: Stores
let reaper: Reaper
let names: NameServer
/** One port on every address, as in containers. */
let apiPort: number
let url: string

beforeAll(async () => {
  haproxy = await debianBinary({
    what: 'HAProxy',
    names: ['haproxy'],
    path: 'usr/sbin/haproxy',
    package: { choices: [['haproxy']], withDependencies: true },
    versionStatus: 1,
    versionOutput: /^HAProxy version/,
    advice: 'put it on PATH, e.g. with `apt-get install haproxy`.',
  })
  stores = await freshStores()
  await migrateDatabase(stores.databaseUrl)
  reaper = startReaper()
  names = await startNameServer()
  apiPort = await portToKeep()
})
afterAll(async () => {
  await reaper.close()
  names.stop()
})

/** The file as Compose mounts it, but for what is named otherwise here. */
async function startProxy(): Promise<void> {
  const port = await portToKeep()
  const changes: [string, string][] = [
    ['bind :3000', `bind 127.0.0.1:${port}`],
    ['dns 127.0.0.11:53', `dns ${names.address}`],
    ['api:3000', `api:${apiPort}`],
  ]
  for (const [there] of changes) expect(config).toContain(there)
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  const file = join(folder, 'haproxy.cfg')
  await writeFile(
    file,
    changes.reduce((text, [there, here]) => text.replace(there, here), config),
  )
  const env = { ...process.env, ...haproxy.env }
  const check = spawnSync(haproxy.file, ['-c', '-f', file], { env, encoding: 'utf8' })
  expect(check.stderr).not.toMatch(/WARNING|ALERT/)
  const child = spawn(haproxy.file, ['-W', '-db', '-f', file], { env, stdio: 'ignore' })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
    await rm(folder, { recursive: true, force: true })
  })
  url = `http://127.0.0.1:${port}`
  const answers = () =>
    fetch(url).then(
      () => true,
      () => false,
    )
  await eventually('the proxy', answers, withinMs)
}

/** An API at its own address, like one in its own container. */
async function startApi(address: string): Promise<ServiceProcess> {
  const environment = {
    ...testSecrets,
    DATABASE_URL: stores.databaseUrl,
    REDIS_URL: stores.redisUrl,
    HOST: address,
    PORT: String(apiPort),
    METRICS_HOST: address,
    METRICS_PORT: '0',
    TRUST_PROXY: '127.0.0.0/8',
    // No request here has a key.
    AUTH_FAILURE_LIMIT: '1000000',
  }
  const lines: string[] = []
  const service = await startService({
    entry: 'src/server.ts',
    readyEvent: 'listening',
    environment,
    reaper,
    onLine: (line) => lines.push(line),
  })
  linesOf.set(address, lines)
  onTestFinished(() => service.stop())
  return service
}

const linesOf = new Map<string, string[]>()

/** The address of the API that answers a request, by the line that it logs of a refused one; undefined if the proxy answers. */
async function whoAnswers(): Promise<string | undefined> {
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' })
  const requestId = response.headers.get('X-Request-Id')
  if (requestId === null || response.status === 503) return undefined
  const isLogged = (address: string) => linesOf.get(address)?.some((line) => line.includes(requestId))
  return await eventually('the line', async () => [...linesOf.keys()].find(isLogged))
}

test('the proxy finds the APIs by their name, new ones too, and a stop of one fails no request', async () => {
  await startProxy()
  const first = await startApi('127.0.0.2')
  names.addresses.push('127.0.0.2')
  await eventually('the first API', async () => (await whoAnswers()) === '127.0.0.2', withinMs)

  await startApi('127.0.0.3')
  names.addresses.push('127.0.0.3')
  await eventually('the second API', async () => (await whoAnswers()) === '127.0.0.3', withinMs)

  const statuses = new Set<number>()
  let isStopping = true
  const client = (async () => {
    for (; isStopping; await sleep(50))
      statuses.add((await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' })).status)
  })()
  await first.stop()
  names.addresses.splice(0, 1)
  let answers: (string | undefined)[] = []
  await eventually('the other one alone', async () => {
    answers = [await whoAnswers(), await whoAnswers(), await whoAnswers(), await whoAnswers()]
    return answers.every((address) => address === '127.0.0.3')
  }).catch((error: unknown) => {
    throw new Error(`who answered last: ${answers.join()}; statuses: ${[...statuses].join()}`, {
      cause: error,
    })
  })
  isStopping = false
  await client
  expect([...statuses]).toEqual([401])
})

/** Stands in for an API: ready, and answers everything with its address. */
async function startAnswering(address: string): Promise<void> {
  const server = createServer((_request, response) => void response.end(address))
  server.listen(apiPort, address)
  await once(server, 'listening')
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
}

test('the proxy finds the APIs where their name has 32 addresses, more than a DNS answer of 512 bytes holds', async () => {
  const addresses = Array.from({ length: 32 }, (_, i) => `127.0.1.${i + 1}`)
  await Promise.all(addresses.map(startAnswering))
  names.addresses.splice(0, names.addresses.length, ...addresses)
  await startProxy()
  const found = new Set<string>()
  const allAreFound = async () => {
    const response = await fetch(url)
    const address = await response.text()
    if (response.ok) found.add(address)
    return found.size === addresses.length
  }
  await eventually('all addresses', allAreFound, withinMs)
  expect([...found].sort()).toEqual(addresses.sort())
})

test('where no API can be reached, the proxy answers as the API does: four fields, an id and when to try again', async () => {
  names.addresses.splice(0)
  await startProxy()
  const response = await fetch(`${url}/v1/messages`, { method: 'POST', body: '{}' })
  const requestId = response.headers.get('X-Request-Id') ?? ''
  expect(requestId).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  expect([response.status, response.headers.get('Retry-After')]).toEqual([503, '1'])
  expect(response.headers.get('Content-Type')).toBe('application/json')
  expect(await response.json()).toEqual({
    statusCode: 503,
    error: 'Service Unavailable',
    message: expect.stringContaining('Try again'),
    requestId,
  })
})
