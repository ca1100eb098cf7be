import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { aCheckout, checkout } from '../../support/checkout.ts'
import { getPage } from '../../support/pages.ts'
import { portToKeep } from '../../support/port.ts'
import { eventually } from '../../support/wait.ts'

const withinMs = 200_000
const { DATABASE_URL: _database, REDIS_URL: _redis, ...environment } = process.env
const env = { ...environment, NODE_OPTIONS: '' }

interface DevOptions {
  options?: string[]
  settings?: Record<string, string>
}

function startDev(path: string, port: number, { options = [], settings = {} }: DevOptions = {}) {
  const child = spawn(process.execPath, ['--import', 'tsx', 'src/dev/dev.ts', ...options], {
    cwd: path,
    env: { ...env, PORT: String(port), ADMIN_PORT: '0', ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const ended = once(child, 'exit')
  onTestFinished(async () => {
    child.kill('SIGTERM')
    await ended
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (data: Buffer) => {
      output += data.toString()
    })
  const unlessItEnds = async <T>(what: string, probe: () => Promise<T>) => {
    const probeOrEnd = async () => {
      const answer = await probe()
      const { exitCode, signalCode } = child
      if (!answer && (exitCode ?? signalCode) !== null)
        throw new Error(`${what}: it ended by ${exitCode ?? signalCode}`)
      return answer
    }
    return await eventually(what, probeOrEnd, withinMs).catch((error) => {
      throw new Error(`${error.message}\n${output}`)
    })
  }
  return {
    printed: (pattern: RegExp) => unlessItEnds(String(pattern), async () => pattern.exec(output)?.[1]),
    isReady: () =>
      unlessItEnds('it is ready', async () => {
        const answer = await fetch(`http://127.0.0.1:${port}/readyz`).catch(() => undefined)
        return answer?.ok
      }),
    output: () => output,
    ended,
    async stop() {
      child.kill('SIGTERM')
      await ended
    },
  }
}

function cli(path: string, ...args: string[]): Promise<{ stdout: string; stderr: string }> {
  const command = ['--import', 'tsx', 'src/cli/main.ts', ...args, '--json']
  return new Promise((resolve) => {
    execFile(process.execPath, command, { cwd: path, env }, (_error, stdout, stderr) =>
      resolve({ stdout, stderr }),
    )
  })
}

test('the CLI can use dev as soon as /readyz is 200; dev prints its addresses, and can start with empty stores', async () => {
  const path = await aCheckout()
  const port = await portToKeep()
  const first = startDev(path, port)
  await first.isReady()

  const { stdout, stderr } = await cli(path, 'account', 'list')

  expect(stderr).toBe('')
  const [account] = JSON.parse(stdout).accounts
  const accountId = await first.printed(/--account (\S+)/)
  expect(account).toMatchObject({ accountId, name: 'Demo' })
  const data = (await first.printed(/^Data, kept for the next start: (.+)$/m)) ?? ''
  onTestFinished(() => rm(dirname(data), { recursive: true, force: true, maxRetries: 5 }))
  expect(existsSync(join(data, 'postgres'))).toBe(true)
  await first.printed(/(npm run dev -- --reset)/)
  expect((await fetch((await first.printed(/^Read and try the API: (\S+)$/m)) ?? '')).status).toBe(200)

  const early = startDev(path, port, { options: ['--reset'] })
  expect(await early.ended).toEqual([1, null])
  expect(early.output()).toMatch(/npm run dev is running here, as process \d+: stop it/)
  await first.stop()
  expect(JSON.parse((await cli(path, 'account', 'list')).stderr)).toEqual({
    error: {
      code: 'usage',
      message:
        'DATABASE_URL is not set, and npm run dev is not running here: set DATABASE_URL, or start npm run dev',
    },
  })

  const metricsPort = await portToKeep()
  const settings = { METRICS_PORT: String(metricsPort) }
  const second = startDev(path, port, { options: ['--reset'], settings })
  await second.printed(/(npm run dev -- --reset)/)
  const metrics = await fetch(`http://127.0.0.1:${metricsPort}/metrics`)
  expect(await metrics.text(), 'METRICS_PORT is the port of one process, the API').toMatch(
    /^# TYPE outbound_sends_accepted_total /m,
  )
  expect(await second.printed(/--account (\S+)/)).not.toBe(accountId)
  await second.stop()
})

test('dev runs on a Redis Cluster with --cluster, and starts again with its data', async () => {
  const path = await aCheckout()
  const port = await portToKeep()
  const url = `http://127.0.0.1:${port}`
  let requestId = ''
  for (const start of ['first', 'again']) {
    const dev = startDev(path, port, { options: ['--cluster'] })
    const data = (await dev.printed(/^Data, kept for the next start: (.+)$/m)) ?? ''
    if (start === 'first')
      onTestFinished(() => rm(dirname(data), { recursive: true, force: true, maxRetries: 5 }))
    await dev.printed(/(npm run dev -- --cluster --reset)/)
    const headers = {
      Authorization: (await dev.printed(/'Authorization: (Bearer \S+)'/)) ?? '',
      'Content-Type': 'application/json',
    }
    const timelineOf = async (id: string) =>
      (await (await fetch(`${url}/v1/messages/${id}`, { headers })).json()) as { status: string }
    if (start === 'again') expect(await timelineOf(requestId)).toMatchObject({ requestId, status: 'sent' })
    const body = (await dev.printed(/-d '(\{.+\})'/)) ?? ''
    const answer = await fetch(`${url}/v1/messages`, { method: 'POST', headers, body })
    requestId = ((await answer.json()) as { requestId: string }).requestId
    await eventually('it is sent', async () => (await timelineOf(requestId)).status === 'sent', withinMs)
    const board = (await dev.printed(/^Queues: (\S+)$/m)) ?? ''
    const { text } = await getPage(board)
    for (const shard of [0, 1, 2]) expect(text).toContain(`Shard ${shard}`)
    await dev.stop()
  }
})

test('an unknown option of dev is named', async () => {
  const dev = startDev(checkout, 0, { options: ['--rest'] })
  expect(await dev.ended).toEqual([1, null])
  expect(dev.output()).toBe(
    'Unknown option --rest: npm run dev takes only --reset, which removes its data and starts anew, and --cluster, ' +
      'which starts a Redis Cluster of three masters.\n',
  )
})
