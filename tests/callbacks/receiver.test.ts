import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type Account, accept, buildAccount, textBody } from '../support/builders.ts'
import { buildEndpoint, callbacksOf } from '../support/endpoints.ts'
import { portToKeep } from '../support/port.ts'
import { soonReconciled, startTestService, type TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const [, receiver = ''] =
  /```js\n(.*?)```/s.exec(readFileSync('docs/how-to/receive-callbacks.md', 'utf8')) ?? []

let service: TestService
let account: Account

beforeAll(async () => {
  service = await startTestService({
    ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
    CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
    CALLBACK_RETRY_DELAYS_SECONDS: '1,1,1',
  })
  account = await buildAccount(service)
})
afterAll(() => service.stop())

test('the receiver of the how-to has 20 lines, verifies, and drops repeats', async () => {
  expect(receiver.trim().split('\n').length).toBeLessThanOrEqual(20)
  const port = await portToKeep()
  const endpoint = await buildEndpoint(service, account.accountId, `http://127.0.0.1:${port}/callbacks`)
  const lines: string[] = []
  const child = spawn(
    process.execPath,
    ['--input-type=module', '-e', receiver.replace('4001', String(port))],
    {
      env: { ...process.env, CALLBACK_SECRET: endpoint.secret },
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => void child.kill())
  child.stdout.on('data', (chunk) => lines.push(...String(chunk).trim().split('\n')))
  await eventually('the receiver listens', () =>
    fetch(`http://127.0.0.1:${port}`).then(
      () => true,
      () => false,
    ),
  )
  await service.startWorker('of the how-to', { times: soonReconciled })

  const requestId = await accept(service, account, textBody('Hello', '+15550100107'))
  const expected = [
    `message.sent ${requestId} sent null`,
    `message.delivered ${requestId} sent delivered`,
    `message.read ${requestId} sent read`,
  ]
  await eventually('three lines', async () => lines.length >= 3)
  expect(lines).toEqual(expected)

  const allTried = (times: number) =>
    eventually(`all told, ${times} times`, async () =>
      (await callbacksOf(service, endpoint)).every(
        ({ finishedAt, tried }) => finishedAt !== null && tried === times,
      ),
    )
  await allTried(1)
  await service.runtime.db.$client.query('update callbacks set finished_at = null')
  await allTried(2)
  expect(lines).toEqual(expected)
  const unsigned = await fetch(`http://127.0.0.1:${port}`, { method: 'POST', body: '{}' })
  expect(unsigned.status).toBe(401)
})
