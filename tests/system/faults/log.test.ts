import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  truncateSync,
  writeSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { findSend } from '../../../db/sends/sends.ts'
import { freePort } from '../../../src/dev/embedded/free-port.ts'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { type Account, accept, buildAccount, textBody } from '../../support/builders.ts'
import { scrapeAt } from '../../support/scrape.ts'
import { startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'

const entries = { api: 'src/server.ts', worker: 'workers/main.ts', admin: 'src/admin/main.ts' }
type Kind = keyof typeof entries

let service: TestService
let account: Account
let folder: string
const started: ChildProcess[] = []
const opened: number[] = []

beforeAll(async () => {
  service = await startTestService()
  account = await buildAccount(service)
})
afterEach(() => {
  for (const child of started.splice(0)) child.kill('SIGKILL')
  for (const fd of opened.splice(0)) closeSync(fd)
  if (folder) rmSync(folder, { recursive: true, force: true })
})
afterAll(() => service?.stop())

interface Process {
  child: ChildProcess
  /** URL of its health and metrics. */
  url: string
  /** URL of the routes of an API. */
  apiUrl: string
  errors(): string
  dropped(): Promise<number | undefined>
  exitCode(): Promise<number | null>
  stop(): Promise<number | null>
}

/** @param before a command of the shell in front of the process, e.g. a limit. */
async function start(
  kind: Kind | 'migrate',
  stdout: number | 'pipe',
  { before = '', node = [] as string[] } = {},
): Promise<Process> {
  const [port, apiPort] = [String(await freePort()), String(await freePort())]
  const own = kind === 'admin' ? { ADMIN_PORT: port } : { METRICS_PORT: port, PORT: apiPort }
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL } = service.stores
  const env = { ...process.env, ...testSecrets, DATABASE_URL, REDIS_URL, HOST: '127.0.0.1', ...own }
  const entry = kind === 'migrate' ? 'src/migrate.ts' : entries[kind]
  const child = spawn('sh', ['-c', `${before} exec "$@"`, 'sh', 'node', ...node, ...argumentsOf(entry)], {
    env,
    stdio: ['ignore', stdout, 'pipe'],
  })
  started.push(child)
  const exited = once(child, 'exit')
  let errors = ''
  child.stderr?.on('data', (text) => {
    errors += text
  })
  const url = `http://127.0.0.1:${port}`
  return {
    child,
    url,
    apiUrl: `http://127.0.0.1:${apiPort}`,
    errors: () => errors,
    dropped: async () => (await scrapeAt(url)).value('outbound_log_lines_dropped_total'),
    exitCode: async () => (await exited)[0],
    async stop() {
      child.kill('SIGTERM')
      return (await exited)[0]
    },
  }
}

const isUp = (url: string) =>
  eventually('the process', () =>
    fetch(`${url}/healthz`).then(
      ({ ok }) => ok,
      () => false,
    ),
  )

/** Each is refused, and logged. */
async function request({ apiUrl }: Process, count: number): Promise<void> {
  for (let left = count; left > 0; left -= 50) {
    const answers = Array.from({ length: 50 }, () => fetch(`${apiUrl}/v1/none`))
    for (const { status, body } of await Promise.all(answers)) {
      expect(status).toBe(404)
      await body?.cancel()
    }
  }
}

function open(path: string, flags: string | number): number {
  const fd = openSync(path, flags)
  opened.push(fd)
  return fd
}

/** A pipe's both ends; nobody reads unless the test does. */
function openPipe(): { reader: number; writer: number } {
  folder = mkdtempSync(join(tmpdir(), 'log-'))
  const path = join(folder, 'pipe')
  execFileSync('mkfifo', [path])
  const reader = open(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return { reader, writer: open(path, 'w') }
}

function readPipe(reader: number): string {
  const buffer = Buffer.alloc(1024 * 1024)
  try {
    return buffer.toString('utf8', 0, readSync(reader, buffer))
  } catch {
    return ''
  }
}

/** To the last byte: a line on stderr may be short enough for what is left. */
function fillPipe(): void {
  const end = open(join(folder, 'pipe'), constants.O_WRONLY | constants.O_NONBLOCK)
  for (const size of [4096, 1]) {
    try {
      for (;;) writeSync(end, Buffer.alloc(size, '.'))
    } catch {}
  }
}

const eventsIn = (log: string) =>
  log
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

test.each(Object.keys(entries) as Kind[])(
  'a full disk neither keeps an %s from starting nor ends it; its lines are counted, and stderr says so once',
  async (kind) => {
    const process = await start(kind, open('/dev/full', 'a'))
    await isUp(process.url)
    await eventually('dropped lines', async () => ((await process.dropped()) ?? 0) > 0)
    if (kind === 'worker') {
      const requestId = await accept(service, account, textBody())
      await eventually('delivery', async () => {
        return (await findSend(service.runtime.db, requestId))?.send.status === 'sent'
      })
    }
    expect(await process.stop()).toBe(0)
    expect(process.errors()).toMatch(
      /^stdout can't be written \(ENOSPC\): free space on its disk\. [^\n]*\n$/,
    )
  },
)

test('a migration succeeds when its log is on a full disk', async () => {
  const process = await start('migrate', open('/dev/full', 'a'))
  expect(await process.exitCode()).toBe(0)
  expect(process.errors()).toContain('ENOSPC')
})

test('a file that may grow again gets whole lines, and one with the number of those that are missing', async () => {
  folder = mkdtempSync(join(tmpdir(), 'log-'))
  const file = join(folder, 'api.log')
  const process = await start('api', open(file, 'a'), { before: 'ulimit -f 16;' })
  await isUp(process.url)
  await isUp(process.apiUrl)
  await request(process, 200)
  await eventually('dropped lines', async () => ((await process.dropped()) ?? 0) > 0)
  for (const line of readFileSync(file, 'utf8').split('\n').slice(0, -1)) JSON.parse(line)
  // As a rotation does.
  truncateSync(file)
  const [line] = await eventually('the recovery line', async () => {
    const log = readFileSync(file, 'utf8')
    return log.includes('log_lines_dropped') && eventsIn(log.slice(log.indexOf('{"level":"warn"')))
  })
  const dropped = await process.dropped()
  expect(line).toMatchObject({ event: 'log_lines_dropped', dropped, reason: 'EFBIG' })
  expect(await process.stop()).toBe(0)
  expect(readFileSync(file, 'utf8')).toMatch(/"event":"stopped"}\n$/)
  expect(process.errors().match(/EFBIG/g)).toHaveLength(1)
})

test('a reader of a pipe that stalls holds up no request; once it reads on, the log has no torn line, and says how many are missing', async () => {
  const { reader, writer } = openPipe()
  const process = await start('api', writer)
  await isUp(process.apiUrl)
  await request(process, 1000)
  await eventually('dropped lines', async () => ((await process.dropped()) ?? 0) > 0)
  await request(process, 50)
  await isUp(process.url)
  expect(process.errors()).toContain('EAGAIN')
  let log = ''
  await eventually('the recovery line', async () => {
    log += readPipe(reader)
    // A read may end within a line.
    return log.includes('log_lines_dropped') && log.endsWith('\n')
  })
  const lines = eventsIn(log)
  const dropped = await process.dropped()
  expect(lines).toContainEqual(expect.objectContaining({ event: 'log_lines_dropped', dropped }))
  expect(lines.filter(({ event }) => event === 'rejected')).toHaveLength(1050 - (dropped ?? 0))
  expect(await process.stop()).toBe(0)
  expect(readPipe(reader)).toContain('"event":"stopped"')
})

test.each([
  ['a pipe', () => openPipe().writer],
  ['a socket', () => 'pipe' as const],
])('SIGTERM ends an API whose log is %s that nobody reads', async (_name, stdout) => {
  const process = await start('api', stdout())
  await isUp(process.apiUrl)
  await eventually('dropped lines', async () => {
    await request(process, 500)
    return ((await process.dropped()) ?? 0) > 0
  })
  expect(await process.stop()).toBe(0)
})

test('stderr in the same stalled pipe holds up nothing', async () => {
  const { writer } = openPipe()
  const process = await start('api', writer, { before: 'exec 2>&1;' })
  await isUp(process.apiUrl)
  await request(process, 1000)
  await eventually('dropped lines', async () => ((await process.dropped()) ?? 0) > 0)
  expect(await process.stop()).toBe(0)
})

/** Sets the flags of a pipe back when it ends, as every Node.js process does. */
async function startSibling(pipe: number): Promise<ChildProcess> {
  const sibling = spawn('node', ['-e', 'process.send(1); setInterval(() => {}, 1e6)'], {
    stdio: ['ignore', pipe, pipe, 'ipc'],
  })
  started.push(sibling)
  await once(sibling, 'message')
  return sibling
}

test('a process that shares the stalled pipe, and makes it blocking when it ends, holds up nothing', async () => {
  const { writer } = openPipe()
  const sibling = await startSibling(writer)
  const process = await start('api', writer, { before: 'exec 2>&1;' })
  await isUp(process.apiUrl)
  sibling.kill('SIGTERM')
  await once(sibling, 'exit')
  fillPipe()
  await request(process, 50)
  await eventually('dropped lines', async () => ((await process.dropped()) ?? 0) > 0)
  expect(await process.stop()).toBe(0)
})

test('a reader that ends, of stdout and of stderr, ends no process', async () => {
  const { writer } = openPipe()
  const process = await start('api', writer)
  await isUp(process.apiUrl)
  for (const fd of opened.splice(0)) closeSync(fd)
  process.child.stderr?.destroy()
  await request(process, 50)
  await eventually('dropped lines', async () => ((await process.dropped()) ?? 0) > 0)
  expect(await process.stop()).toBe(0)
})

const crashOnSignal = [
  '--import',
  `data:text/javascript,process.on('SIGUSR2',()=>{throw new Error('broken')})`,
]

test('a crash leaves its last line in the log, and one on stderr, which the log may be unable to take', async () => {
  const { reader, writer } = openPipe()
  for (const stdout of [writer, open('/dev/full', 'a')]) {
    const process = await start('api', stdout, { node: crashOnSignal })
    await isUp(process.apiUrl)
    process.child.kill('SIGUSR2')
    expect(await process.exitCode()).toBe(1)
    expect(process.errors()).toContain('broken')
  }
  const crash = eventsIn(readPipe(reader)).find(({ event }) => event === 'crashed')
  expect(crash).toMatchObject({ level: 'error', err: { message: 'broken' } })
})
