import { createServer, type Server, type Socket } from 'node:net'
import { expect, onTestFinished, test } from 'vitest'
import { holdChannel, updateChannel } from '../../db/accounts/channels.ts'
import { openBreaker } from '../../db/delivery/breakers.ts'
import { createAdminApp } from '../../src/admin/app.ts'
import { listen } from '../../src/admin/http/listen.ts'
import { readAdminSettings } from '../../src/platform/settings/settings.ts'
import { openRuntime } from '../../src/runtime.ts'
import { startTestAdmin, type TestAdmin } from '../support/admin.ts'
import { beginAttempt, lapse } from '../support/attempts.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { type Scrape, scrapeAt } from '../support/scrape.ts'
import { serviceOfFile } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)

/** By a process that has read nothing yet. */
async function scrapeAfresh(): Promise<Scrape> {
  const admin = await startTestAdmin(service)
  return await scrapeAt(admin.url).finally(() => admin.stop())
}

async function withChannel(): Promise<Account> {
  return { ...account, channelId: await buildChannel(service, account.accountId) }
}

const dueSince = (requestId: string, seconds: number) =>
  service.runtime.db.$client.query(
    `update sends set next_attempt_at = clock_timestamp() - $2 * interval '1 s' where request_id = $1`,
    [requestId, seconds],
  )

const oldest = (scrape: Scrape, channels: string) =>
  scrape.value('outbound_oldest_waiting_send_age_seconds', { channels })

test('before anything has happened, every collected metric is there and 0', async () => {
  const scrape = await scrapeAfresh()
  for (const collector of ['database', 'queues'])
    expect(scrape.value('outbound_collector_up', { collector }), collector).toBe(1)
  for (const state of ['due', 'later', 'sending', 'scheduled'])
    expect(scrape.value('outbound_unfinished_sends', { state }), state).toBe(0)
  for (const channels of ['free', 'limited', 'stopped', 'scheduled'])
    expect(oldest(scrape, channels), channels).toBe(0)
  for (const queue of ['sends', 'sends-overflow']) {
    for (const state of ['waiting', 'prioritized', 'delayed', 'active'])
      expect(scrape.value('outbound_queue_jobs', { queue, state }), `${queue} ${state}`).toBe(0)
  }
  expect(scrape.value('outbound_held_channels', { provider: 'sandbox' })).toBe(0)
  expect(scrape.value('outbound_breakers', { provider: 'webhook', state: 'half_open' })).toBe(0)
  expect(scrape.value('outbound_workers')).toBe(0)
})

test('sends are counted by whether they are due, with the age of the oldest one that waits only for a worker', async () => {
  const [free, limited, held] = [await withChannel(), await withChannel(), await withChannel()]
  await updateChannel(service.runtime.db, limited.channelId, { maxInFlight: 1 })
  const contact = newContact()
  const first = await accept(service, free, textBody('first', contact))
  const behind = await accept(service, free, textBody('behind', contact))
  const waiting = await accept(service, free, textBody())
  const inLimited = await accept(service, limited, textBody())
  const inHeld = await accept(service, held, textBody())
  await holdChannel(service.runtime.db, held.channelId, 'held')
  await dueSince(first, -600)
  await dueSince(behind, 900)
  await dueSince(waiting, 100)
  await dueSince(inLimited, 200)
  await dueSince(inHeld, 300)

  const scrape = await scrapeAfresh()
  expect(scrape.value('outbound_unfinished_sends', { state: 'due' })).toBe(4)
  expect(scrape.value('outbound_unfinished_sends', { state: 'later' })).toBe(1)
  expect(oldest(scrape, 'free')).toBeCloseTo(100, -1)
  expect(oldest(scrape, 'limited')).toBeCloseTo(200, -1)
  expect(oldest(scrape, 'stopped')).toBeCloseTo(300, -1)
  expect(scrape.value('outbound_queue_jobs', { queue: 'sends' })).toBe(5)
  expect(scrape.value('outbound_held_channels', { provider: 'sandbox' })).toBe(1)
})

test('a breaker counts as open, and as half open once its time is over', async () => {
  const { channelId } = await withChannel()
  await openBreaker(service.runtime.db, { channelId, isAgain: false })
  const breakers = (scrape: Scrape) =>
    ['open', 'half_open'].map((state) => scrape.value('outbound_breakers', { provider: 'sandbox', state }))
  expect(breakers(await scrapeAfresh())).toEqual([1, 0])
  await service.runtime.db.$client.query(
    'update channels set breaker_open_until = clock_timestamp() where id = $1',
    [channelId],
  )
  expect(breakers(await scrapeAfresh())).toEqual([0, 1])
})

test('a worker counts as long as its lease holds, and its sends as sending', async () => {
  await beginAttempt(service, await accept(service, account, textBody()), 'alive')
  await beginAttempt(service, await accept(service, account, textBody()), 'dead')
  await lapse(service, 'dead')
  const scrape = await scrapeAfresh()
  expect(scrape.value('outbound_workers')).toBe(1)
  expect(scrape.value('outbound_unfinished_sends', { state: 'sending' })).toBe(2)
})

test('however many scrapes come, the stores are queried once in a few seconds', async () => {
  const admin = await startTestAdmin(service)
  const { db } = service.runtime
  const asked = async () => {
    const { rows } = await db.$client.query('select count(*)::int as count from sends')
    return rows[0].count
  }
  const first = await Promise.all([1, 2, 3].map(() => scrapeAt(admin.url)))
  const count = await asked()
  await accept(service, account, textBody())
  expect(await asked()).toBe(count + 1)
  const second = await scrapeAt(admin.url)
  const due = (scrape: Scrape) => scrape.value('outbound_unfinished_sends', { state: 'due' })
  expect(new Set([...first, second].map(due)).size).toBe(1)
  expect(due(await scrapeAfresh())).toBe((due(second) ?? 0) + 1)
  await admin.stop()
})

/** Accepts connections, and never writes anything. */
async function openSilentServer(): Promise<Server & { port: number }> {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => sockets.add(socket.on('error', () => {})))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as { port: number }
  server.once('close', () => {})
  return Object.assign(server, {
    port,
    close: () => {
      for (const socket of sockets) socket.destroy()
      return server
    },
  })
}

test.each(['gone', 'silent'])(
  'where the stores are %s it answers all the same, soon, with what it knows',
  async (how) => {
    const silent = await openSilentServer()
    const port = how === 'gone' ? 1 : silent.port
    const admin = await startTestAdmin(service, {
      DATABASE_URL: `postgres://postgres@127.0.0.1:${port}/none`,
      REDIS_URL: `redis://127.0.0.1:${port}`,
    })
    onTestFinished(() => admin.stop())
    const scrape = await timed(() => scrapeAt(admin.url))
    expectSooner(scrape, 5000)
    for (const collector of ['database', 'queues'])
      expect(scrape.value('outbound_collector_up', { collector }), collector).toBe(0)
    expect(scrape.value('outbound_unfinished_sends')).toBeUndefined()
    expect(scrape.value('outbound_oldest_waiting_send_age_seconds')).toBeUndefined()
    expect(scrape.value('outbound_workers')).toBeUndefined()
    expect(scrape.value('outbound_queue_jobs')).toBeUndefined()
    expect(scrape.value('outbound_redis_connected')).toBe(0)
    expect(scrape.value('process_cpu_seconds_total')).toBeGreaterThan(0)
    silent.close()
  },
)

test('what can no longer be read is left out, not repeated from before', async () => {
  const gone = { DATABASE_URL: 'postgres://postgres@127.0.0.1:1/none', REDIS_URL: 'redis://127.0.0.1:1' }
  const runtime = openRuntime('admin', readAdminSettings(gone), service.runtime.log)
  const { unfinished, oldestWaiting, heldChannels, breakers, workers, queueJobs } = runtime.metrics
  unfinished.set({ state: 'due' }, 7)
  oldestWaiting.set({ channels: 'free' }, 7)
  heldChannels.set({ provider: 'smtp' }, 7)
  breakers.set({ provider: 'smtp', state: 'open' }, 7)
  workers.set(7)
  queueJobs.set({ queue: 'sends', state: 'active', shard: '0' }, 7)
  const server = await listen(createAdminApp(runtime), { host: '127.0.0.1', port: 0 })
  const response = await fetch(`http://127.0.0.1:${server.port}/metrics`)
  expect(response.status).toBe(200)
  expect(await response.text()).not.toMatch(/^outbound_\w+(\{.*\})? 7$/m)
  await server.stop()
  await runtime.close()
})

test('with a password, metrics ask for it', async () => {
  const admin: TestAdmin = await startTestAdmin(service, { ADMIN_PASSWORD: 'a password of tests' })
  expect((await fetch(`${admin.url}/metrics`)).status).toBe(401)
  const Authorization = `Basic ${Buffer.from('admin:a password of tests').toString('base64')}`
  expect((await scrapeAt(admin.url, { Authorization })).value('outbound_collector_up')).toBe(2)
  await admin.stop()
})

test('channels in trouble are named, at most 10 for each, without what may be a number or an address', async () => {
  const { db } = service.runtime
  const named = (scrape: Scrape, trouble: string, channel: string) =>
    scrape.value('outbound_channels_in_trouble', { provider: 'sandbox', trouble, channel })
  const rename = (channelId: string, name: string) =>
    db.$client.query('update channels set name = $2 where id = $1', [channelId, name])
  const [held, broken, silent] = [await withChannel(), await withChannel(), await withChannel()]
  await rename(held.channelId, 'SMS from +49 151 23456789')
  await rename(broken.channelId, 'Reminders')
  await rename(silent.channelId, 'Invoices of a@example.com')
  await holdChannel(db, held.channelId, 'held')
  await openBreaker(db, { channelId: broken.channelId, isAgain: false })
  await db.$client.query(
    "update channels set awaits_receipt_since = now() - interval '61 minutes' where id = $1",
    [silent.channelId],
  )
  const scrape = await scrapeAfresh()
  expect(named(scrape, 'held', 'Test: SMS from …')).toBe(1)
  expect(named(scrape, 'breaker', 'Test: Reminders')).toBe(1)
  expect(named(scrape, 'no_receipts', 'Test: Invoices of …')).toBe(1)
  expect(named(scrape, 'held', 'Test: Reminders')).toBeUndefined()

  for (let more = 0; more < 11; more++) {
    const { channelId } = await withChannel()
    await rename(channelId, `Held ${more}`)
    await holdChannel(db, channelId, 'held')
  }
  const names = (await scrapeAfresh()).text.match(/^outbound_channels_in_trouble\{.*trouble="held"/gm)
  expect(names).toHaveLength(10)
})
