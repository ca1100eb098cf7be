import { asc, eq, inArray } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { media, sends } from '../../db/schema.ts'
import { replaySends } from '../../db/sends/replay-sets.ts'
import { noneSkipped } from '../../src/core/sends/left-out.ts'
import { buildSendRow, namesOf, rowOf, timelineOf } from '../support/attempts.ts'
import { type Account, buildAccount, buildChannel } from '../support/builders.ts'
import { runCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

const perSecond = 20
/** None. */
const skipped = noneSkipped

const service = await serviceOfFile()
const account = await buildAccount(service)

const withChannel = async () => ({ ...account, channelId: await buildChannel(service, account.accountId) })

/** Sends that ended so, in the order of their acceptance. */
async function buildEnded(by: Account, count: number, status: 'sent' | 'failed' | 'uncertain') {
  const end = { status, finishedAt: new Date(), failure: status === 'sent' ? null : 'no such number' }
  const attempt = { attempt: 1, worker: 'first', claimedAt: new Date(), nextAttemptAt: new Date() }
  const rows = Array.from({ length: count }, () => buildSendRow(by, { ...end, ...attempt }))
  await service.runtime.db.insert(sends).values(rows)
  return rows.map(({ requestId }) => requestId)
}

async function statesOf(ids: string[]) {
  const { db } = service.runtime
  const rows = await db.select().from(sends).where(inArray(sends.requestId, ids)).orderBy(asc(sends.seq))
  return rows.map(({ status }) => status)
}

async function replaySet(by: Account, status: string, ...options: string[]) {
  const args = ['replay', '--channel', by.channelId, '--status', status, ...options]
  const result = await runCli(service, ...args)
  expect(result).toMatchObject({ status: 0, stderr: '' })
  expect(result.stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(result.stdout)
}

test('a set is replayed oldest first, up to its limit, at most 20 due in a second; nothing else is replayed', async () => {
  const [by, other] = [await withChannel(), await withChannel()]
  const failed = await buildEnded(by, 70, 'failed')
  const bystanders = [
    ...(await buildEnded(by, 2, 'sent')),
    ...(await buildEnded(by, 2, 'uncertain')),
    ...(await buildEnded(other, 2, 'failed')),
  ]
  const before = await Promise.all(bystanders.map((requestId) => rowOf(service, requestId)))
  const startedAt = Date.now()
  expect(await replaySet(by, 'failed', '--limit', '65')).toEqual({ replayed: 65, skipped })

  expect(await statesOf(failed)).toEqual([...Array(65).fill('queued'), ...Array(5).fill('failed')])
  expect(await Promise.all(bystanders.map((requestId) => rowOf(service, requestId)))).toEqual(before)
  const due = await Promise.all(
    failed.slice(0, 65).map(async (requestId) => {
      const { nextAttemptAt } = await rowOf(service, requestId)
      return nextAttemptAt?.getTime() ?? 0
    }),
  )
  expect(due).toEqual([...due].sort((a, b) => a - b))
  expect(due[0]).toBeGreaterThanOrEqual(startedAt)
  for (const [i, at] of due.slice(perSecond).entries()) {
    expect(at - (due[i] ?? 0)).toBeGreaterThanOrEqual(999)
  }
  // No slower than it has to be.
  expect((due[64] ?? 0) - (due[0] ?? 0)).toBeLessThan(5000)
  const { events } = await timelineOf(service, failed[64] ?? '')
  expect(events.at(-1)).toMatchObject({
    event: 'replayed',
    nextAttemptAt: new Date(due[64] ?? 0).toISOString(),
  })
})

test('a set of uncertain sends leaves out the failed ones, and a replayed send is not replayed again', async () => {
  const by = await withChannel()
  const uncertain = await buildEnded(by, 3, 'uncertain')
  const failed = await buildEnded(by, 3, 'failed')
  expect(await replaySet(by, 'uncertain')).toEqual({ replayed: 3, skipped })
  expect(await replaySet(by, 'uncertain')).toEqual({ replayed: 0, skipped })
  expect(await statesOf(uncertain)).toEqual(Array(3).fill('queued'))
  expect(await statesOf(failed)).toEqual(Array(3).fill('failed'))
})

test('a set leaves out sends whose media is deleted, and does not count them for the limit', async () => {
  const by = await withChannel()
  const [gone = '', kept = '', linked = ''] = await buildEnded(by, 3, 'failed')
  const { db } = service.runtime
  const own = { mediaType: 'image' as const, sizeBytes: 3 }
  for (const [requestId, stored] of [
    [gone, own],
    [kept, own],
    [linked, { mediaType: 'image' as const, mediaUrl: 'https://example.com/a.png' }],
  ] as const) {
    const message = { type: 'media' as const, media: stored }
    await db.update(sends).set({ messageType: 'media', message }).where(eq(sends.requestId, requestId))
  }
  await db.insert(media).values({ requestId: kept, content: Buffer.from('abc') })
  expect(await replaySet(by, 'failed', '--limit', '2')).toEqual({
    replayed: 2,
    skipped: { ...skipped, gone: 1 },
  })
  expect(await statesOf([gone, kept, linked])).toEqual(['failed', 'queued', 'queued'])
})

test('a set that is replayed several times at once is replayed once', async () => {
  const by = await withChannel()
  const ids = await buildEnded(by, 60, 'failed')
  const set = { channelId: by.channelId, status: 'failed', limit: 1000 } as const
  const replayed = await Promise.all(Array.from({ length: 4 }, () => replaySends(service.runtime.db, set)))
  expect(replayed.reduce((sum, one) => sum + one.replayed, 0)).toBe(ids.length)
  for (const requestId of ids) {
    const names = namesOf(await timelineOf(service, requestId))
    expect(names.filter((event) => event === 'replayed')).toHaveLength(1)
  }
})
