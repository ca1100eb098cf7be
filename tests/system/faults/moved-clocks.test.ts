import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { sends } from '../../../db/schema.ts'
import { hourMs, minuteMs } from '../../../src/core/durations.ts'
import { type Reaper, startReaper } from '../../../src/dev/embedded/index.ts'
import { startService } from '../../../src/dev/service-process.ts'
import { startTwilioEmulator } from '../../../src/providers/twilio/dev/emulator.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildKey,
  buildWebhookChannel,
  post,
  request,
  textBody,
} from '../../support/builders.ts'
import { samples } from '../../support/media-samples.ts'
import { movableClocks } from '../../support/moved-clock.ts'
import { portToKeep } from '../../support/port.ts'
import { buildProviderChannel } from '../../support/provider-channel.ts'
import { finishedTimeline, startTestService, type TestService, testSecrets } from '../../support/service.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { eventually } from '../../support/wait.ts'
import {
  type Behaviour,
  openWebhookReceiver,
  accept as takes,
  type WebhookReceiver,
} from '../../support/webhook-receiver.ts'

/** An API whose clock is right, on the stores that all processes share. */
let right: TestService
let account: Account
let receiver: WebhookReceiver
let reaper: Reaper

beforeAll(async () => {
  const port = await portToKeep()
  reaper = startReaper()
  receiver = await openWebhookReceiver()
  right = await startTestService({ PORT: String(port), PUBLIC_BASE_URL: `http://127.0.0.1:${port}` })
  account = await buildAccount(right)
})
afterAll(async () => {
  await right.stop()
  await receiver.stop()
  await reaper.close()
})

const entries = {
  api: { entry: 'src/server.ts', readyEvent: 'listening' },
  worker: { entry: 'workers/main.ts', readyEvent: 'working' },
}

/** A process whose wall clock is so far ahead of PostgreSQL's, and can be set. */
async function start(kind: keyof typeof entries, aheadMs: number, settings: Record<string, string> = {}) {
  const clocks = await movableClocks(aheadMs)
  const service = await startService({
    ...entries[kind],
    reaper,
    environment: {
      ...testSecrets,
      ...clocks.environment,
      DATABASE_URL: right.stores.databaseUrl,
      REDIS_URL: right.stores.redisUrl,
      HOST: '127.0.0.1',
      PORT: '0',
      METRICS_PORT: '0',
      ALLOWED_PRIVATE_NETWORKS: '127.0.0.0/8',
      CLIENT_PRIVATE_NETWORKS: '127.0.0.0/8',
      PUBLIC_BASE_URL: right.url,
      RETRY_DELAYS_SECONDS: '1,1,1',
      ...settings,
    },
  })
  onTestFinished(async () => {
    await service.stop()
    await clocks.stop()
  })
  return {
    url: `http://127.0.0.1:${service.ready.port}`,
    set: (toMs: number) => clocks.set(service.child.pid as number, toMs),
    stop: () => service.stop(),
  }
}

test("setting an API's clock, by a second or by ten minutes, back or forward, refuses nobody", async () => {
  const at = await start('api', 0)
  await accept(at, account, textBody())
  for (const aheadMs of [-1000, -10 * minuteMs, 10 * minuteMs, -2000, hourMs, 0]) {
    await at.set(aheadMs)
    const answers = await Promise.all([1, 2, 3].map(() => post(at, account, textBody())))
    expect(
      answers.map(({ status }) => status),
      `${aheadMs} ms ahead`,
    ).toEqual([202, 202, 202])
  }
})

test('an API whose clock was set forward records nothing that it answered with 503', async () => {
  const database = await startTcpProxy(right.stores.databaseUrl)
  onTestFinished(() => database.close())
  const name = randomUUID()
  const at = await start('api', 0, { DATABASE_URL: `${database.url}?application_name=${name}` })
  await accept(at, account, textBody())
  await at.set(10 * minuteMs)
  database.freeze()
  const answers = await Promise.all([1, 2, 3].map(() => post(at, account, textBody())))
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503])
  database.thaw()
  await at.stop()
  const { db } = right.runtime
  await eventually('what it has asked PostgreSQL for has come to its end', async () => {
    const asked = 'select from pg_stat_activity where application_name = $1'
    return (await db.$client.query(asked, [name])).rowCount === 0
  })
  const refused = new Set(answers.map(({ body }) => body.requestId))
  const recorded = await db.select({ requestId: sends.requestId }).from(sends)
  expect(recorded.filter(({ requestId }) => refused.has(requestId))).toEqual([])
})

test.each([
  ['ahead', 2 * hourMs],
  ['behind', -2 * hourMs],
])("an API key expires by PostgreSQL's clock, at an API that is hours %s, too", async (_what, aheadMs) => {
  const at = await start('api', aheadMs)
  const statusWith = async (expiresInMs: number) => {
    const expiresAt = new Date(Date.now() + expiresInMs)
    const { apiKey } = await buildKey(right, account.accountId, { expiresAt })
    return (await request(at, '/v1/messages/x', { headers: { Authorization: `Bearer ${apiKey}` } })).status
  }
  expect(await statusWith(hourMs)).toBe(404)
  expect(await statusWith(-hourMs)).toBe(401)
})

describe.each([
  ['ahead', hourMs],
  ['behind', -hourMs],
])('a worker whose clock is an hour %s', (_what, aheadMs) => {
  const dateIn = (ms: number) => new Date(Date.now() + ms).toUTCString()
  const waitMs = 4000
  /** Answers the first call of each send so that it is called again. */
  const later = (busy: Behaviour): Behaviour => {
    const seen = new Set<unknown>()
    return (request, response) => {
      const id = request.headers['webhook-id']
      if (seen.has(id)) return takes(request, response)
      seen.add(id)
      return busy(request, response)
    }
  }
  const sendBy = async (behaviour: Behaviour) => {
    const url = receiver.at(behaviour)
    const channelId = await buildWebhookChannel(right, account.accountId, url, 'resend')
    return await accept(right, { ...account, channelId }, textBody())
  }

  test('heeds a Retry-After that is a date, by the Date of the answer or else by PostgreSQL, and signs with the right time', async () => {
    await start('worker', aheadMs)
    const dated = await sendBy(
      later((_request, response) => {
        // The receiver's own clock is three hours off.
        const date = dateIn(3 * hourMs)
        response.writeHead(429, { date, 'retry-after': dateIn(3 * hourMs + waitMs) }).end()
      }),
    )
    const undated = await sendBy(
      later((_request, response) => {
        response.sendDate = false
        response.writeHead(429, { 'retry-after': dateIn(waitMs) }).end()
      }),
    )
    for (const requestId of [dated, undated]) {
      await finishedTimeline(right, requestId, account.apiKey)
      const calls = receiver.callsOf(requestId)
      expect(calls).toHaveLength(2)
      expect(calls.every(({ isVerified }) => isVerified)).toBe(true)
      // Dates are in whole seconds.
      expect((calls[1]?.at ?? 0) - (calls[0]?.at ?? 0)).toBeGreaterThan(waitMs - 1000)
    }
  })

  test('makes media links that are valid for an hour', async () => {
    const emulator = await startTwilioEmulator({ fetchesMedia: true })
    onTestFinished(() => emulator.stop())
    await start('worker', aheadMs)
    const channelId = await buildProviderChannel(right, account.accountId, 'twilio', emulator.config)
    const requestId = await accept(
      right,
      { ...account, channelId },
      {
        contact: { value: '+4915112345678' },
        message: { type: 'media', media: { mediaType: 'image', base64: samples.png.toString('base64') } },
      },
    )
    await finishedTimeline(right, requestId, account.apiKey)
    await eventually('the media is fetched', async () => emulator.fetched.length === 2)
    expect(emulator.fetched.map(({ status }) => status)).toEqual([200, 200])
    const [, expiry = ''] = (emulator.fetched[0]?.url ?? '').split('/media/')[1]?.split('.') ?? []
    const goodForMs = Number(expiry) * 1000 - Date.now()
    expect(goodForMs).toBeGreaterThan(hourMs - minuteMs)
    expect(goodForMs).toBeLessThan(hourMs + minuteMs)
  })
})

test("a worker that is set back amid retries takes them up again, by other workers' search or its own", async () => {
  const worker = await start('worker', 0, { RETRY_DELAYS_SECONDS: '2,2,2' })
  const url = receiver.at((_request, response) => response.writeHead(429).end())
  const channelId = await buildWebhookChannel(right, account.accountId, url, 'resend')
  const requestId = await accept(right, { ...account, channelId }, textBody())
  await eventually('the first call', async () => receiver.callsOf(requestId).length > 0)
  await worker.set(-10 * minuteMs)
  const { status, attempts } = await finishedTimeline(right, requestId, account.apiKey)
  expect([status, attempts]).toEqual(['failed', 4])
})
