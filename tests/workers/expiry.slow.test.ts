import { eq, sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { holdChannel, listChannels, updateChannel } from '../../db/accounts/channels.ts'
import { expireSends } from '../../db/delivery/expiry.ts'
import { sends } from '../../db/schema.ts'
import { openProviders } from '../../workers/providers/index.ts'
import {
  beginAttempt,
  endAttempt,
  loseAttempt,
  namesOf,
  received,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { deliverAs } from '../support/deliver-as.ts'
import { finishedTimeline, serviceOfFile } from '../support/service.ts'
import { expectSooner, timed } from '../support/standstill.ts'
import { eventually } from '../support/wait.ts'

const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '30,30' })
const account = await buildAccount(service)

/** The account with a channel of its own, whose sends may wait so long. */
async function withExpiry(expireAfterSeconds: number | null, onUncertain: 'hold' | 'resend' = 'hold') {
  const channelId = await buildChannel(service, account.accountId, onUncertain)
  await updateChannel(service.runtime.db, channelId, { expireAfterSeconds })
  return { ...account, channelId }
}

/** Makes the send expire. */
async function overdue(requestId: string): Promise<void> {
  const past = sql`clock_timestamp() - interval '1 ms'`
  await service.runtime.db.update(sends).set({ expiresAt: past }).where(eq(sends.requestId, requestId))
}

async function waitingTimeMs(requestId: string): Promise<number | undefined> {
  const { acceptedAt, expiresAt } = await rowOf(service, requestId)
  if (!(acceptedAt && expiresAt)) return undefined
  return expiresAt.getTime() - acceptedAt.getTime()
}

test('a send whose channel is held until after its expiry fails as expired, and never reaches the provider', async () => {
  const by = await withExpiry(1)
  await holdChannel(service.runtime.db, by.channelId, 'held')
  const worker = await service.startWorker()
  const requestId = await accept(service, by, textBody())
  const { stoodStillMs, ...timeline } = await timed(() =>
    finishedTimeline(service, requestId, account.apiKey),
  )
  await worker.stop()
  expect(timeline).toMatchObject({ status: 'failed', attempts: 0 })
  expect(timeline.events).toEqual([
    { at: timeline.acceptedAt, event: 'accepted' },
    { at: timeline.finishedAt, event: 'failed', reason: 'expired' },
  ])
  const waitedMs = Date.parse(timeline.finishedAt ?? '') - Date.parse(timeline.acceptedAt)
  expect(waitedMs).toBeGreaterThanOrEqual(1000)
  expectSooner({ tookMs: waitedMs, stoodStillMs }, 5000)
  expect(await received(service, requestId)).toEqual([])
  const logged = service.logsOf(requestId).map(({ event, reason }) => ({ event, reason }))
  expect(logged).toEqual([{ event: 'accepted' }, { event: 'failed', reason: 'expired' }])
})

test('a send that waits for a retry until after its expiry fails as expired, and keeps the events of its attempts', async () => {
  const worker = await service.startWorker()
  const requestId = await accept(service, await withExpiry(60), textBody('Hello', 'retry@example.com'))
  await eventually('the retry is scheduled', async () =>
    service.logsOf(requestId).some(({ event }) => event === 'retry_scheduled'),
  )
  await overdue(requestId)
  const timeline = await finishedTimeline(service, requestId, account.apiKey)
  await worker.stop()
  expect(timeline).toMatchObject({ status: 'failed', attempts: 1 })
  const attempt = ['attempt_started', 'attempt_finished', 'retry_scheduled']
  expect(namesOf(timeline)).toEqual(['accepted', ...attempt, 'failed'])
  expect(timeline.events.at(-1)?.reason).toBe('expired')
  expect(await received(service, requestId)).toEqual([])
})

test('a send that was queued without a worker until after its expiry fails as expired, and one in time is delivered', async () => {
  const by = await withExpiry(60)
  const [late, inTime] = [await accept(service, by, textBody()), await accept(service, by, textBody())]
  await overdue(late)
  const worker = await service.startWorker()
  const expired = await finishedTimeline(service, late, account.apiKey)
  const delivered = await finishedTimeline(service, inTime, account.apiKey)
  await worker.stop()
  expect(expired).toMatchObject({ status: 'failed', attempts: 0 })
  expect(expired.events.at(-1)?.reason).toBe('expired')
  expect(await received(service, late)).toEqual([])
  expect(delivered).toMatchObject({ status: 'sent', attempts: 1 })
  expect(await waitingTimeMs(inTime)).toBeGreaterThan(59_000)
  expect(await waitingTimeMs(inTime)).toBeLessThanOrEqual(60_100)
})

test('a send that has expired is not claimed even before a sweep has ended it', async () => {
  const requestId = await accept(service, await withExpiry(60), textBody())
  await overdue(requestId)
  const { senders } = openProviders(service.runtime)
  const deliver = await deliverAs(service, 'living', senders)
  expect(await deliver(requestId)).toMatchObject({ wakeInMs: undefined })
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'queued', attempt: 0 })
  await sweepOnce(service)
  expect((await timelineOf(service, requestId)).events.at(-1)?.reason).toBe('expired')
})

test('a send does not expire during an attempt: the outcome counts', async () => {
  const by = await withExpiry(60)
  const [taken, busy] = [await accept(service, by, textBody()), await accept(service, by, textBody())]
  const [first, second] = [await beginAttempt(service, taken, 'a'), await beginAttempt(service, busy, 'a')]
  for (const requestId of [taken, busy]) await overdue(requestId)
  await sweepOnce(service)
  expect((await rowOf(service, taken)).status).toBe('sending')
  await endAttempt(service, first, { outcome: 'sent' })
  await endAttempt(service, second, { outcome: 'retry_later', fault: 'provider', reason: 'busy' })
  await sweepOnce(service)
  expect((await rowOf(service, taken)).status).toBe('sent')
  expect(await rowOf(service, busy)).toMatchObject({ status: 'failed', failure: 'expired', attempt: 1 })
})

test('a send that waits for its resend expires too, and its lost attempt is recorded once', async () => {
  const requestId = await accept(service, await withExpiry(60, 'resend'), textBody())
  await loseAttempt(service, requestId, 'dead')
  await overdue(requestId)
  await sweepOnce(service)
  const lost = ['attempt_started', 'attempt_lost', 'retry_scheduled']
  expect(namesOf(await timelineOf(service, requestId))).toEqual(['accepted', ...lost, 'failed'])
})

test('several sweepers at once expire each send once, and only what has expired', async () => {
  const by = await withExpiry(60)
  const ids = await Promise.all(Array.from({ length: 30 }, () => accept(service, by, textBody())))
  const [inTime = '', ...late] = ids
  for (const requestId of late) await overdue(requestId)
  const pages = await Promise.all(Array.from({ length: 6 }, () => expireSends(service.runtime.db, 7)))
  for (const page of pages) expect(page.length).toBeLessThanOrEqual(7)
  await Promise.all(Array.from({ length: 4 }, () => sweepOnce(service)))
  for (const requestId of late) {
    expect(namesOf(await timelineOf(service, requestId))).toEqual(['accepted', 'failed'])
  }
  const expired = pages.flat().map(({ requestId }) => requestId)
  const logged = [...expired, ...late.filter((id) => service.logsOf(id).some(isFailed))]
  expect(logged.sort()).toEqual([...late].sort())
  expect((await rowOf(service, inTime)).status).toBe('queued')
})

const isFailed = ({ event }: { event: string }) => event === 'failed'

const shown = async (channelId: string) =>
  (await listChannels(service.runtime.db, account.accountId)).find((one) => one.channelId === channelId)

const update = (channelId: string, ...options: string[]) =>
  runCli(service, 'channel', 'update', channelId, ...options)

/** Accepts follow a change of the channel within seconds. */
const acceptedWith = (by: Account, isMeant: (waitingMs: number | undefined) => boolean) =>
  eventually('a send with the new waiting time', async () => {
    const requestId = await accept(service, by, textBody())
    return isMeant(await waitingTimeMs(requestId)) && requestId
  })

test.concurrent('channel create and channel update set how long sends may wait; sends accepted before keep their expiry', async () => {
  const create = ['--account', account.accountId, '--provider', 'sandbox', '--name', 'x', '--config', '{}']
  const created = await runCli(service, 'channel', 'create', ...create, '--expire-after', '60')
  expect(created).toMatchObject({ status: 0, stderr: '' })
  const { channelId } = JSON.parse(created.stdout)
  const by = { ...account, channelId }
  expect(await shown(channelId)).toMatchObject({ expireAfterSeconds: 60 })
  const limited = await accept(service, by, textBody())
  const unlimitedBefore = await accept(service, account, textBody())

  for (const id of [channelId, account.channelId]) {
    const { status, stdout } = await update(id, '--expire-after', '5')
    expect({ status, stdout }).toEqual({ status: 0, stdout: `${JSON.stringify({ channelId: id })}\n` })
  }
  for (const one of [by, account]) await acceptedWith(one, (ms) => ms !== undefined && ms < 6000)
  expect(await waitingTimeMs(limited)).toBeGreaterThan(59_000)
  expect(await waitingTimeMs(unlimitedBefore)).toBeUndefined()
  await update(channelId, '--name', 'y')
  expect(await shown(channelId)).toMatchObject({ expireAfterSeconds: 5, name: 'y' })
})

test.concurrent('channel update --expire-after none lets later sends wait without a limit', async () => {
  const by = await withExpiry(60)
  const limited = await accept(service, by, textBody())
  expect(await update(by.channelId, '--expire-after', 'none')).toMatchObject({ status: 0, stderr: '' })
  expect(await shown(by.channelId)).toMatchObject({ expireAfterSeconds: null })
  await acceptedWith(by, (ms) => ms === undefined)
  expect(await waitingTimeMs(limited)).toBeGreaterThan(59_000)
})

test.each(['0', '-1', '1.5', 'x'])('a waiting time of "%s" is refused', async (time) => {
  const channelId = await buildChannel(service, account.accountId)
  const { status, stdout, stderr } = await runCli(
    service,
    'channel',
    'update',
    channelId,
    '--expire-after',
    time,
  )
  expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
  expect(stderr.trim().split('\n')).toHaveLength(1)
  expect(stderr).toContain('--expire-after')
})
