import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { argumentsOf } from '../../../src/dev/service-process.ts'
import { timelineOf } from '../../support/attempts.ts'
import { accept, buildAccount, buildWebhookChannel, inAnswer, textBody } from '../../support/builders.ts'
import { buildEndpoint, callbacksOf } from '../../support/endpoints.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { eventually } from '../../support/wait.ts'
import {
  gate,
  openWebhookReceiver,
  accept as take,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'

let service: TestService
let receiver: WebhookReceiver
let worker: ChildProcess | undefined

beforeAll(async () => {
  service = await startTestService()
  receiver = await openWebhookReceiver()
})
afterEach(() => worker?.kill('SIGKILL'))
afterAll(async () => {
  await receiver?.stop()
  await service?.stop()
})

/** A worker that may have so many files and connections open. @returns its log. */
function startWorker(descriptors: number): Record<string, unknown>[] {
  const { databaseUrl: DATABASE_URL, redisUrl: REDIS_URL } = service.stores
  const networks = { ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8', CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8' }
  const own = { DATABASE_POOL_SIZE: '4', METRICS_PORT: '0', HOST: '127.0.0.1', RETRY_DELAYS_SECONDS: '0' }
  const command = [
    '-c',
    `ulimit -n ${descriptors}; exec "$@"`,
    'sh',
    'node',
    ...argumentsOf('workers/main.ts'),
  ]
  worker = spawn('sh', command, {
    env: { ...process.env, ...testSecrets, DATABASE_URL, REDIS_URL, ...networks, ...own },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const log: Record<string, unknown>[] = []
  if (worker.stdout) createInterface(worker.stdout).on('line', (line) => log.push(JSON.parse(line)))
  return log
}

test('a worker without descriptors delivers what it has been given when some are free, at the first attempt and try', async () => {
  const account = await buildAccount(service)
  const endpoint = await buildEndpoint(service, account.accountId, receiver.at(take))
  const held = gate()
  const url = receiver.at(held.behaviour)
  const channelId = await buildWebhookChannel(service, account.accountId, url, 'hold', {
    answeredAt: inAnswer,
  })
  const log = startWorker(70)
  const requestIds = await Promise.all(
    Array.from({ length: 80 }, () => accept(service, { ...account, channelId }, textBody())),
  )
  const warning = await eventually('the warning', async () =>
    log.find(({ event }) => event === 'worker_shortage'),
  )
  expect(warning).toMatchObject({ reason: expect.stringMatching(/EMFILE.*raise its limit of open files/) })
  const byAnother = await accept(service, account, textBody())
  await finishedTimeline(service, byAnother, account.apiKey)
  held.open()
  for (const requestId of requestIds) {
    await finishedTimeline(service, requestId, account.apiKey)
    expect(await timelineOf(service, requestId)).toMatchObject({ status: 'sent', attempts: 1 })
  }
  expect(log.filter(({ event }) => event === 'worker_shortage')).toHaveLength(1)
  expect(log.filter(({ event }) => event === 'breaker_opened')).toEqual([])
  const told = await eventually('all callbacks', async () => {
    const all = await callbacksOf(service, endpoint)
    return all.length === 81 && all.every(({ finishedAt }) => finishedAt) && all
  })
  for (const { tried } of told) expect(tried).toBe(1)
})
