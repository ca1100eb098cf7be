import { setTimeout as sleep } from 'node:timers/promises'
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { DatabaseClock } from '../../db/connection/clock.ts'
import { accept, buildAccount, post, textBody } from '../support/builders.ts'
import { serviceOfFile, startTestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { eventually } from '../support/wait.ts'

/** How far off PostgreSQL's clock is; where `search_path` has `public` before what is PostgreSQL's own. */
const movable = `
  create schema moved;
  create table moved.clock (off interval not null);
  insert into moved.clock values ('0');
  create function public.clock_timestamp() returns timestamptz language sql volatile as
    'select pg_catalog.clock_timestamp() + (select off from moved.clock)'`
const throughMovable = `options=${encodeURIComponent('-c search_path=public,pg_catalog')}`

const service = await serviceOfFile({}, await freshStores())
const account = await buildAccount(service)
await service.runtime.db.$client.query(movable)
const databaseUrl = `${service.stores.databaseUrl}?${throughMovable}`
beforeEach(() => setDatabaseClock('0'))

async function setDatabaseClock(off: string) {
  await service.runtime.db.$client.query('update moved.clock set off = $1', [off])
}

async function openClock() {
  const proxy = await startTcpProxy(databaseUrl)
  const db = connectDatabase(proxy.url, { poolSize: 1, queryTimeoutMs: 5000, onConnectionLost: () => {} })
  const roundTripsMs: number[] = []
  const clock = new DatabaseClock(db, (ms) => roundTripsMs.push(ms))
  onTestFinished(async () => {
    proxy.delay(0)
    await db.$client.end()
    await proxy.close()
  })
  // Connected, so that a reading is one round trip.
  await db.$client.query('select')
  return { clock, proxy, roundTripsMs }
}

/** The true one, to which a reading comes close and which it never exceeds. */
async function aheadMs(): Promise<{ least: number; most: number }> {
  const askedAt = performance.now()
  const { rows } = await service.runtime.db.$client.query<{ ms: number }>(
    'select extract(epoch from clock_timestamp() + off)::float8 * 1000 as ms from moved.clock',
  )
  const ms = rows[0]?.ms ?? 0
  return { least: ms - performance.now(), most: ms - askedAt }
}

test('a reading is never ahead of PostgreSQL, and behind by its round trip at the most', async () => {
  const { clock, proxy, roundTripsMs } = await openClock()
  for (const delayMs of [0, 100]) {
    proxy.delay(delayMs)
    const read = await clock.read()
    const { least, most } = await aheadMs()
    expect(read).toBeLessThanOrEqual(most)
    expect(read).toBeGreaterThan(least - (roundTripsMs.at(-1) ?? 0))
  }
  expect(roundTripsMs[1]).toBeGreaterThanOrEqual(200)
})

test('a slow reading does not replace a more exact one', async () => {
  const { clock, proxy } = await openClock()
  const before = await clock.read()
  proxy.delay(200)
  expect(before - (await clock.read())).toBeLessThan(5)
})

test('a first reading that a busy process took late is not kept: deadlines would come that much too early', async () => {
  const { clock, proxy } = await openClock()
  proxy.delay(50)
  const reading = clock.read()
  // PostgreSQL has read its clock by then, and the answer is on its way.
  await sleep(60)
  // Long enough to tell, and half of the time that a reading may take: a loaded machine adds to it.
  for (const until = performance.now() + 450; performance.now() < until; );
  const read = await reading
  proxy.delay(0)
  const { least } = await aheadMs()
  expect(read).toBeGreaterThan(least - 300)
})

test.each(['10 minutes', '-10 minutes', '1 second', '-1 second'])(
  'a PostgreSQL whose clock is set by %s is followed by the next reading',
  async (off) => {
    const { clock } = await openClock()
    await clock.read()
    await setDatabaseClock(off)
    const read = await clock.read()
    const { least, most } = await aheadMs()
    expect(read).toBeLessThanOrEqual(most)
    expect(read).toBeGreaterThan(least - 500)
  },
)

test('a machine whose clock is set sees no change', async () => {
  const { clock } = await openClock()
  await clock.read()
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const before = clock.nowMs()
  vi.setSystemTime(Date.now() + 3_600_000)
  expect(clock.nowMs() - before).toBeLessThan(60_000)
  expect(await clock.aheadMs()).toBe(await clock.aheadMs())
})

test('readings that are asked for at once are one', async () => {
  const { clock, roundTripsMs } = await openClock()
  await Promise.all([clock.read(), clock.aheadMs(), clock.read()])
  expect(roundTripsMs).toHaveLength(1)
})

test('a PostgreSQL whose clock jumps ahead, as at a fail-over, costs one 503 and not those of many seconds', async () => {
  const at = await startTestService({ DATABASE_URL: databaseUrl }, service.stores)
  onTestFinished(() => at.stop())
  await accept(at, account, textBody())
  // Else it might be read just between the two.
  at.api.clock.stop()
  await setDatabaseClock('1 minute')
  const { status } = await post(at, account, textBody())
  expect(status).toBe(503)
  await eventually('a 202', async () => (await post(at, account, textBody())).status === 202)
})

test('an API shows in its metrics how far it is from PostgreSQL', async () => {
  const proxy = await startTcpProxy(service.stores.databaseUrl)
  onTestFinished(() => proxy.close())
  const at = await startTestService({ DATABASE_URL: proxy.url }, service.stores)
  onTestFinished(() => at.stop())
  const { clock, metrics } = at.api
  clock.stop()
  // On a busy machine, a connection may take too long.
  const read = () =>
    clock.read().then(
      () => true,
      () => false,
    )
  await eventually('a first reading', read)
  metrics.databaseRoundTrip.reset()
  proxy.delay(60)
  await eventually('another', read)
  proxy.delay(0)
  const { values } = await metrics.databaseRoundTrip.get()
  const measured = (name: string) => values.find(({ metricName }) => metricName?.endsWith(name))?.value
  expect(measured('_count')).toBe(1)
  // The fastest of several queries counts, each delayed by two timers that may fire a millisecond early.
  expect(measured('_sum')).toBeGreaterThanOrEqual(0.118)
})
