import { eq } from 'drizzle-orm'
import { describe, expect, test } from 'vitest'
import { updateChannel } from '../../db/accounts/channels.ts'
import { sends } from '../../db/schema.ts'
import { replaySends, tryReplay } from '../../db/sends/replay-sets.ts'
import { noneSkipped } from '../../src/core/sends/left-out.ts'
import type { AttemptOutcome } from '../../src/core/sends/outcome.ts'
import {
  attemptedSend,
  beginAttempt,
  buildSendRow,
  endAttempt,
  loseAttempt,
  namesOf,
  rowOf,
  sweepOnce,
  timelineOf,
} from '../support/attempts.ts'
import { type Account, accept, buildAccount, buildChannel, textBody } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { serviceOfFile } from '../support/service.ts'

// Two attempts each.
const service = await serviceOfFile({ RETRY_DELAYS_SECONDS: '1000' })
const account = await buildAccount(service)

const refusal: AttemptOutcome = {
  outcome: 'rejected',
  fault: 'recipient',
  reason: 'no such number',
  providerStatus: 400,
}
const outage: AttemptOutcome = {
  outcome: 'retry_later',
  fault: 'provider',
  reason: 'the provider is away',
  providerStatus: 503,
}

const withChannel = async () => ({ ...account, channelId: await buildChannel(service, account.accountId) })
const refused = (by: Account) => attemptedSend(service, by, refusal)

const change = (requestId: string, changes: Partial<typeof sends.$inferInsert>) =>
  service.runtime.db.update(sends).set(changes).where(eq(sends.requestId, requestId))

async function gaveUp(by: Account, outcome = outage) {
  const requestId = await attemptedSend(service, by, outcome)
  await change(requestId, { nextAttemptAt: new Date(0) })
  await endAttempt(service, await beginAttempt(service, requestId, 'second'), outcome)
  return requestId
}

async function expired(by: Account) {
  const requestId = await accept(service, by, textBody())
  await service.runtime.queue.remove(requestId)
  await change(requestId, { expiresAt: new Date(0) })
  await sweepOnce(service)
  expect(await rowOf(service, requestId)).toMatchObject({ status: 'failed', failure: 'expired' })
  return requestId
}

/** A send that failed otherwise, whose time to wait on its channel has meanwhile passed. */
async function outOfTime(by: Account) {
  const requestId = await gaveUp(by)
  await change(requestId, { expiresAt: new Date(Date.now() - 1000) })
  return requestId
}

const statusesOf = (ids: string[]) =>
  Promise.all(ids.map(async (requestId) => (await rowOf(service, requestId)).status))

async function replay(by: Account, ...options: string[]) {
  const status = options.includes('--status') ? [] : ['--status', 'failed']
  const args = ['replay', '--channel', by.channelId, ...status, ...options]
  const { status: exit, stdout, stderr } = await runCli(service, ...args)
  expect({ exit, stderr }).toEqual({ exit: 0, stderr: '' })
  expect(stdout.trim().split('\n')).toHaveLength(1)
  return JSON.parse(stdout)
}

describe('a replay of a set', () => {
  test('leaves out expired and permanently refused sends, counted by the reason, and includes them on request', async () => {
    const by = await withChannel()
    const away = await gaveUp(by)
    const code = await expired(by)
    const overdue = await outOfTime(by)
    const numbers = [await refused(by), await refused(by)]
    expect(await replay(by)).toEqual({ replayed: 1, skipped: { ...noneSkipped, expired: 2, refused: 2 } })
    expect(await statusesOf([away])).toEqual(['queued'])
    expect(await statusesOf([code, overdue, ...numbers])).toEqual(Array(4).fill('failed'))

    expect(await replay(by, '--include-expired')).toEqual({
      replayed: 2,
      skipped: { ...noneSkipped, expired: 0, refused: 2 },
    })
    expect(await statusesOf([code, overdue])).toEqual(['queued', 'queued'])
    expect(await replay(by, '--include-refused')).toEqual({
      replayed: 2,
      skipped: noneSkipped,
    })
    expect(await statusesOf(numbers)).toEqual(['queued', 'queued'])
  })

  test('with --dry-run does nothing, and prints what it would do', async () => {
    const by = await withChannel()
    const ids = [await gaveUp(by), await gaveUp(by), await expired(by), await refused(by)]
    const before = await Promise.all(ids.map((requestId) => rowOf(service, requestId)))
    for (const options of [[], ['--include-expired', '--include-refused'], ['--limit', '1']]) {
      const would = await replay(by, '--dry-run', ...options)
      expect(await Promise.all(ids.map((requestId) => rowOf(service, requestId)))).toEqual(before)
      for (const requestId of ids)
        expect(namesOf(await timelineOf(service, requestId))).not.toContain('replayed')
      if (options.length === 0)
        expect(would).toEqual({ replayed: 2, skipped: { ...noneSkipped, expired: 1, refused: 1 } })
    }
    const would = await replay(by, '--dry-run', '--include-expired')
    expect(await replay(by, '--include-expired')).toEqual(would)
  })

  test('in readable form says whether it was done', async () => {
    const by = await withChannel()
    await gaveUp(by)
    await refused(by)
    const set = ['replay', '--channel', by.channelId, '--status', 'failed']
    const read = async (...options: string[]) =>
      (await startCli(service, {}, ...set, ...options).ended).stdout
    expect(await read('--dry-run')).toMatch(/^would replay +1\nLeft out: 1 refused for good.*\n$/)
    expect(await read()).toMatch(
      /^replayed +1\nLeft out: 1 refused for good: the provider would refuse them again\.\n$/,
    )
  })

  test('does not count what it leaves out for the limit, and counts only as far as it reads', async () => {
    const by = await withChannel()
    const [first, kept, , later] = [await refused(by), await gaveUp(by), await refused(by), await gaveUp(by)]
    expect(await replay(by, '--limit', '1')).toEqual({
      replayed: 1,
      skipped: { ...noneSkipped, expired: 0, refused: 1 },
    })
    expect(await statusesOf([first, kept, later])).toEqual(['failed', 'queued', 'failed'])
    expect(await replay(by, '--limit', '1')).toEqual({
      replayed: 1,
      skipped: { ...noneSkipped, expired: 0, refused: 2 },
    })
    expect(await statusesOf([later])).toEqual(['queued'])
  })

  test('counts a late refusal, and one before the call, as permanently refused, but not a lost worker', async () => {
    const by = await withChannel()
    const late = await accept(service, by, textBody())
    await endAttempt(service, await loseAttempt(service, late, 'frozen'), refusal)
    const unsendable: AttemptOutcome = {
      outcome: 'rejected',
      fault: 'message',
      reason: 'the template is gone',
    }
    const never = await attemptedSend(service, by, unsendable)
    const lost = await accept(service, by, textBody())
    await change(lost, { losses: 4 })
    await loseAttempt(service, lost, 'killed')
    expect(await statusesOf([late, never, lost])).toEqual(['failed', 'failed', 'failed'])
    expect(await replay(by)).toEqual({ replayed: 1, skipped: { ...noneSkipped, expired: 0, refused: 2 } })
    expect(await statusesOf([late, never, lost])).toEqual(['failed', 'failed', 'queued'])
  })

  test('goes by stored fields, not by text: a provider that answers "expired" or "refused" changes nothing', async () => {
    const by = await withChannel()
    const says = await gaveUp(by, { ...outage, reason: 'expired' })
    await change(says, { failure: 'expired' })
    const refuses = await gaveUp(by, { ...outage, reason: 'rejected: refused' })
    expect(await replay(by)).toEqual({ replayed: 2, skipped: noneSkipped })
    expect(await statusesOf([says, refuses])).toEqual(['queued', 'queued'])
  })

  test('of uncertain sends leaves out those whose time is over', async () => {
    const by = await withChannel()
    const unsure: AttemptOutcome = { outcome: 'uncertain', fault: 'provider', reason: 'connection lost' }
    const [code, news] = [await attemptedSend(service, by, unsure), await attemptedSend(service, by, unsure)]
    await change(code, { expiresAt: new Date(Date.now() - 1000) })
    const skipped = { ...noneSkipped, expired: 1, refused: 0 }
    expect(await replay(by, '--status', 'uncertain')).toEqual({ replayed: 1, skipped })
    expect(await statusesOf([code, news])).toEqual(['uncertain', 'queued'])
  })

  test('of a single send replays it whatever the reason', async () => {
    const by = await withChannel()
    for (const requestId of [await expired(by), await refused(by)]) {
      const { status, stdout } = await runCli(service, 'replay', requestId)
      expect({ status, answer: JSON.parse(stdout) }).toEqual({
        status: 0,
        answer: { replayed: 1, requestId },
      })
    }
  })
})

describe('a set is narrowed', () => {
  const minutesAgo = (minutes: number) => new Date(Date.now() - minutes * 60_000)

  test('by when its sends were accepted: from --since on, and before --until, as moments or as how long ago', async () => {
    const by = await withChannel()
    const ids = [await gaveUp(by), await gaveUp(by), await gaveUp(by)]
    const [old = '', middle = '', young = ''] = ids
    const at = minutesAgo(90)
    await change(old, { acceptedAt: minutesAgo(180) })
    await change(middle, { acceptedAt: at })
    const count = async (...options: string[]) => (await replay(by, '--dry-run', ...options)).replayed
    expect(await count('--since', '1h')).toBe(1)
    expect(await count('--until', '1h')).toBe(2)
    expect(await count('--since', '2h', '--until', '1h')).toBe(1)
    expect(await count('--since', at.toISOString())).toBe(2)
    expect(await count('--until', at.toISOString())).toBe(1)
    const elsewhere = new Date(at.getTime() + 3 * 3_600_000).toISOString().replace('Z', '+03:00')
    expect(await count('--since', elsewhere.toLowerCase())).toBe(2)
    await replay(by, '--since', '2h', '--until', '60m')
    expect(await statusesOf([old, middle, young])).toEqual(['failed', 'queued', 'failed'])
  })

  test('by a part of the reason, in upper or lower case, without wildcards', async () => {
    const by = await withChannel()
    const [away, full] = [await gaveUp(by), await gaveUp(by, { ...outage, reason: 'Mailbox 100% full' })]
    const set = { channelId: by.channelId, status: 'failed', limit: 10 } as const
    const count = async (reason: string) => (await tryReplay(service.runtime.db, { ...set, reason })).replayed
    expect(await count('mailbox')).toBe(1)
    expect(await count('(the last attempt)')).toBe(2)
    for (const text of ['%', '100%']) expect(await count(text)).toBe(1)
    for (const text of ['_', 'mail%full', 'nothing of it']) expect(await count(text)).toBe(0)
    await replay(by, '--reason', 'MAILBOX')
    expect(await statusesOf([away, full])).toEqual(['failed', 'queued'])
  })

  test.each([
    [['--since', 'yesterday'], '--since'],
    [['--since', '2026-11-21T14:00:00'], 'offset'],
    [['--until', '2026-02-30T14:00:00Z'], '--until'],
    [['--since', '1h', '--until', '2h'], 'before --until'],
    [['--reason', ' '], '--reason'],
    [['--dry-run=no'], '--dry-run'],
  ])('but not by an invalid value: %j', async (options, hint) => {
    const by = await withChannel()
    const failed = await gaveUp(by)
    const args = ['replay', '--channel', by.channelId, '--status', 'failed', ...options]
    const { status, stdout, stderr } = await runCli(service, ...args)
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain(hint)
    expect(await statusesOf([failed])).toEqual(['failed'])
  })

  test('but a single send is not: options for sets are refused', async () => {
    const requestId = await refused(account)
    for (const option of ['--dry-run', '--include-refused']) {
      const { status, stderr } = await runCli(service, 'replay', requestId, option)
      expect({ status, stderr }).toEqual({ status: 64, stderr: expect.stringContaining('replay --help') })
    }
    expect(await statusesOf([requestId])).toEqual(['failed'])
  })
})

test('a set of many thousands is replayed page by page, with the same counts as a dry run', async () => {
  const by = await withChannel()
  const { db } = service.runtime
  await updateChannel(db, by.channelId, { expireAfterSeconds: 60 })
  const attemptRecord = { attempt: 1, durationMs: 1, providerCode: null, providerMessageId: null }
  const kinds = [
    { failure: 'no', attemptRecord: { ...attemptRecord, outcome: 'rejected' as const, providerStatus: 400 } },
    {
      failure: 'away',
      attemptRecord: { ...attemptRecord, outcome: 'retry_later' as const, providerStatus: 503 },
    },
    { failure: 'expired' },
    { failure: 'refused', contactValue: '+4915199999999' },
  ]
  const end = { status: 'failed', finishedAt: new Date(), nextAttemptAt: new Date() } as const
  for (let part = 0; part < 5; part++) {
    const rows = Array.from({ length: 1300 }, (_, i) =>
      buildSendRow(by, { ...end, ...kinds[i % kinds.length] }),
    )
    await db.insert(sends).values(rows)
  }
  const set = { channelId: by.channelId, status: 'failed', limit: 100_000 } as const
  const all = { replayed: 3250, skipped: { ...noneSkipped, expired: 1625, refused: 1625 } }
  expect(await tryReplay(db, set)).toMatchObject(all)
  const theirs = { ...set, contactValue: '+4915199999999' }
  expect(await tryReplay(db, theirs)).toMatchObject({ replayed: 1625, skipped: noneSkipped })
  expect(await tryReplay(db, { ...set, endedBy: new Date(end.finishedAt.getTime() - 1) })).toMatchObject({
    replayed: 0,
    skipped: noneSkipped,
  })
  expect(await replaySends(db, set)).toEqual(all)
  expect(await replaySends(db, set)).toEqual({ ...all, replayed: 0 })
})
