import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { createServer, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createNetServer } from 'node:net'
import { constants } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, expect, onTestFinished, test } from 'vitest'
import { findSend } from '../../../db/sends/sends.ts'
import { type Account, accept, buildAccount, buildWebhookChannel, textBody } from '../../support/builders.ts'
import { aCheckout, builtCheckout } from '../../support/checkout.ts'
import { type Command, startCommand } from '../../support/command.ts'
import { startKeepAliveClient } from '../../support/keep-alive-client.ts'
import { startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'

const procfileWorker = /^worker: (.*)$/m.exec(readFileSync('Procfile', 'utf8'))?.[1] ?? ''
const likeForeman = ['node', join(import.meta.dirname, '../../support/like-foreman.mjs')]

let cwd: string
let service: TestService
let account: Account
let receiver: Server
/** Calls that wait for their answer. */
const calls: ServerResponse[] = []
const started: Command[] = []

beforeAll(async () => {
  cwd = await builtCheckout()
  service = await startTestService()
  receiver = createServer((_request, response) => calls.push(response)).listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  const owner = await buildAccount(service)
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}`
  account = { ...owner, channelId: await buildWebhookChannel(service, owner.accountId, url, 'hold') }
})
afterEach(() => {
  for (const command of started.splice(0)) command.kill()
})
afterAll(async () => {
  receiver?.close()
  await service?.stop()
  await rm(cwd, { recursive: true, force: true })
})

function start(command: string[], terminal: boolean): Command {
  const env = {
    ...process.env,
    ...testSecrets,
    DATABASE_URL: service.stores.databaseUrl,
    REDIS_URL: service.stores.redisUrl,
    HOST: '127.0.0.1',
    PORT: '0',
    METRICS_PORT: '0',
    ADMIN_PORT: '0',
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    SHELL: '/bin/sh',
  }
  const running = startCommand(command, { env, terminal, cwd })
  started.push(running)
  return running
}

/** A worker that has a send in flight; `answer` lets its provider answer. */
async function startBusyWorker(command: string[], terminal: boolean) {
  const worker = start(command, terminal)
  await worker.logged('working')
  const requestId = await accept(service, account, textBody())
  const answer = await eventually('the call', async () => calls.pop())
  return {
    worker,
    answer: () => answer.writeHead(200).end(),
    statusOf: async () => (await findSend(service.runtime.db, requestId))?.send.status,
  }
}

const ways: [string, string[], boolean, (worker: Command) => void][] = [
  ['SIGTERM to npm', ['npm', 'run', 'worker'], false, (npm) => npm.signal('SIGTERM')],
  ['SIGINT to npm', ['npm', 'run', 'worker'], false, (npm) => npm.signal('SIGINT')],
  ['SIGTERM to npm in a terminal', ['npm', 'run', 'worker'], true, (npm) => npm.signal('SIGTERM')],
  ['Ctrl-C in the terminal of npm', ['npm', 'run', 'worker'], true, (npm) => npm.interrupt()],
  [
    'Ctrl-C in the terminal of a supervisor of the Procfile',
    [...likeForeman, procfileWorker],
    true,
    (supervisor) => supervisor.interrupt(),
  ],
]

test.each(ways)('%s lets a worker finish its sends', async (_way, command, terminal, stop) => {
  const { worker, answer, statusOf } = await startBusyWorker(command, terminal)
  stop(worker)
  await worker.logged('stopping')
  const { metricsPort } = await worker.logged('serving_health')
  const health = await fetch(`http://127.0.0.1:${metricsPort}/healthz`)
  expect(health.headers.get('Connection')).toBe('close')
  // For what else may be sent after the first signal.
  await sleep(300)
  answer()
  expect(await worker.ended()).toEqual({ code: 0, outlivedBy: [] })
  expect(worker.output()).toContain('"event":"stopped"')
  expect(await statusOf()).toBe('sent')
})

test('a second Ctrl-C, more than a second after the first, ends a worker at once', async () => {
  const { worker, answer, statusOf } = await startBusyWorker(['npm', 'run', 'worker'], true)
  worker.interrupt()
  await worker.logged('stopping')
  await sleep(1100)
  worker.interrupt()
  await worker.logged('stopped_unfinished')
  expect(await worker.ended()).toMatchObject({ code: 1, outlivedBy: [] })
  expect(await statusOf()).toBe('sending')
  answer()
})

test.each([
  ['npm start', ['npm', 'start'], 'listening'],
  ['npm run admin', ['npm', 'run', 'admin'], 'serving_admin'],
])('SIGTERM ends %s, which exits with 0', async (_name, command, ready) => {
  const npm = start(command, false)
  await npm.logged(ready)
  npm.signal('SIGTERM')
  expect(await npm.ended()).toEqual({ code: 0, outlivedBy: [] })
  expect(npm.output()).toContain('"event":"stopped"')
})

test('SIGTERM to npm start resets no connection of eight busy clients: each gets an answer with Connection: close', async () => {
  const npm = start(['npm', 'start'], false)
  const { port } = await npm.logged('listening')
  const clients = Array.from({ length: 8 }, () => startKeepAliveClient(`http://127.0.0.1:${port}`))
  await eventually('all are served', async () => clients.every(({ answers }) => answers > 1))
  npm.signal('SIGTERM')
  const ends = await Promise.all(clients.map(({ end }) => end))
  expect(ends).toEqual(clients.map(() => 'Connection: close'))
  expect(await npm.ended()).toEqual({ code: 0, outlivedBy: [] })
})

test.each<[string, boolean, (npm: Command) => void]>([
  ['SIGTERM to npm', false, (npm) => npm.signal('SIGTERM')],
  ['SIGTERM to npm in a terminal', true, (npm) => npm.signal('SIGTERM')],
  ['Ctrl-C in its terminal', true, (npm) => npm.interrupt()],
])(
  '%s ends npm run dev with all that it has started, its PostgreSQL and Redis too',
  async (_way, terminal, stop) => {
    const { DATABASE_URL: _database, REDIS_URL: _redis, ...environment } = process.env
    const env = { ...environment, NODE_OPTIONS: '', PORT: '0', ADMIN_PORT: '0', SHELL: '/bin/sh' }
    const npm = startCommand(['npm', 'run', 'dev'], { env, terminal, cwd: await aCheckout() })
    started.push(npm)
    await npm.printed('Data, kept for the next start')
    const [, data = ''] = /^Data, kept for the next start: (.+)$/m.exec(npm.output()) ?? []
    // Without it the clean-up below would remove the working folder.
    expect(data).toMatch(/^\/.+\/.+/)
    onTestFinished(() => rm(dirname(data), { recursive: true, force: true, maxRetries: 5 }))
    const stores = npm.pids().filter((pid) => /postgres|redis-server|valkey/.test(commandOf(pid)))
    expect(stores.length).toBeGreaterThan(1)
    stop(npm)
    expect(await npm.ended()).toEqual({ code: 0, outlivedBy: [] })
  },
)

const commandOf = (pid: number) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ')

// The first process of a container ignores a signal for which it has no handler.
test.each(['SIGTERM', 'SIGINT'] as const)(
  '%s ends a process that is still starting, by a handler of its own',
  async (signal) => {
    const silent = createNetServer().listen(0, '127.0.0.1')
    await once(silent, 'listening')
    onTestFinished(() => void silent.close())
    const asked = once(silent, 'connection')
    const { port } = silent.address() as AddressInfo
    const DATABASE_URL = `postgres://postgres@127.0.0.1:${port}/none`
    const worker = spawn('node', ['dist/workers/main.js'], {
      cwd,
      env: {
        ...process.env,
        ...testSecrets,
        DATABASE_URL,
        REDIS_URL: service.stores.redisUrl,
        METRICS_PORT: '0',
      },
      stdio: 'ignore',
    })
    const [[socket]] = await Promise.all([asked, once(worker, 'spawn')])
    worker.kill(signal)
    expect(await once(worker, 'exit')).toEqual([128 + constants.signals[signal], null])
    socket.destroy()
  },
)
