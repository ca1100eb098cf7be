import { eq } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { foldCounts } from '../../db/counters/fold.ts'
import { sendCountChanges, usageCounts } from '../../db/schema.ts'
import { retentionTrims } from '../../db/upkeep/retention.ts'
import { accept, buildAccount, buildChannel, buildKey, request, textBody } from '../support/builders.ts'
import { runCli, startCli } from '../support/cli.ts'
import { expectError } from '../support/expect-error.ts'
import { cancel, inSeconds } from '../support/later.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const today = new Date().toISOString().slice(0, 10)
const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
const long = { ...textBody(), message: { type: 'text', text: { value: 'a'.repeat(161) } } }
const reader = { permissions: ['usage:read' as const] }
const zeros = { delivered: 0, undelivered: 0, failed: 0, uncertain: 0 }

const usageOf = (apiKey: string, query: string) =>
  request(service, `/v1/usage?${query}`, { headers: { Authorization: `Bearer ${apiKey}` } })

/** An account with two channels that has accepted a text of two segments on each, and canceled another on the second. */
async function buildUsed() {
  const account = await buildAccount(service)
  const other = { ...account, channelId: await buildChannel(service, account.accountId) }
  await accept(service, account, { ...long, priority: 'urgent' })
  await accept(service, other, long)
  await cancel(service, other, await accept(service, other, { ...long, sendAt: inSeconds(3600) }))
  const { apiKey } = await buildKey(service, account.accountId, reader)
  return { account, other, apiKey }
}

test('usage is there at once, before and after it is added up, and the channels sum up to the account', async () => {
  const { account, other, apiKey } = await buildUsed()
  const whole = { accepted: 3, sent: 0, ...zeros, canceled: 1, segments: 6, cost: {} }
  for (const _ of ['pending', 'added up']) {
    const { status, body } = await usageOf(apiKey, `from=${today}&to=${tomorrow}`)
    expect({ status, body }).toMatchObject({ status: 200, body: { from: today, to: tomorrow } })
    expect(body.usage).toEqual([
      { day: null, month: null, channelId: null, channelName: null, priority: null, ...whole },
    ])
    const divided = await usageOf(apiKey, `from=${today}&to=${tomorrow}&groupBy=channel,day`)
    const expected = [
      { day: today, channelId: account.channelId, accepted: 1, canceled: 0, segments: 2 },
      { day: today, channelId: other.channelId, accepted: 2, canceled: 1, segments: 4 },
    ].sort((a, b) => a.channelId.localeCompare(b.channelId))
    expect(divided.body.usage.toSorted(byChannel)).toMatchObject(expected)
    const ofPriorities = await usageOf(apiKey, `from=${today}&to=${tomorrow}&groupBy=priority`)
    expect(ofPriorities.body.usage).toMatchObject([
      { priority: 'urgent', accepted: 1, segments: 2 },
      { priority: 'normal', accepted: 2, canceled: 1, segments: 4 },
    ])
    while ((await foldCounts(db, 1000)) > 0);
  }
})

const byChannel = (a: { channelId: string }, b: { channelId: string }) =>
  a.channelId.localeCompare(b.channelId)

test('a span without sends is one sum of zeros, or no group', async () => {
  const { apiKey } = await buildUsed()
  const span = 'from=2020-02-01&to=2020-03-01'
  expect((await usageOf(apiKey, span)).body.usage).toMatchObject([{ accepted: 0, segments: 0 }])
  expect((await usageOf(apiKey, `${span}&groupBy=month`)).body.usage).toEqual([])
})

test.each([
  ['to=2026-11-01', /from: is missing/],
  ['from=2026-10-01', /to: is missing/],
  ['from=2026-02-30&to=2026-11-01', /from: has to be a day, such as 2026-10-01/],
  ['from=2026-10&to=2026-11-01', /from: has to be a day/],
  ['from=2026-11-01&to=2026-11-01', /to: has to be after from/],
  ['from=2025-01-01&to=2026-01-03&groupBy=channel,day', /to: at most 366 days after from, by day/],
  ['from=2026-10-01&to=2026-11-01&groupBy=flow', /groupBy: has to be one or more of/],
  ['from=2026-10-01&to=2026-11-01&groupBy=day,month', /groupBy: has to be one or more of/],
  ['from=2026-10-01&to=2026-11-01&month=2026-10', /month: unknown parameter/],
])('%s is a 400 that names it', async (query, message) => {
  const { accountId } = await buildAccount(service)
  const { apiKey } = await buildKey(service, accountId, reader)
  expectError(await usageOf(apiKey, query), 400, message)
})

test('366 days are read by day, and longer spans otherwise', async () => {
  const { apiKey } = await buildUsed()
  for (const query of ['to=2026-01-02&groupBy=day', 'to=2030-01-01&groupBy=month,channel', 'to=2030-01-01'])
    expect((await usageOf(apiKey, `from=2025-01-01&${query}`)).status).toBe(200)
})

test('a change of a send whose day was removed makes no usage, before and after it is added up', async () => {
  const { account, apiKey } = await buildUsed()
  while ((await foldCounts(db, 1000)) > 0);
  await db.delete(usageCounts).where(eq(usageCounts.channelId, account.channelId))
  const hour = new Date(new Date().setUTCMinutes(0, 0, 0))
  const change = { accountId: account.accountId, channelId: account.channelId, hour }
  const countChanges = () =>
    db.insert(sendCountChanges).values([
      { ...change, priority: 'urgent', countedAs: 'failed', change: -1 },
      { ...change, priority: 'urgent', countedAs: 'sent', change: 1 },
    ])
  await countChanges()
  const rest = { accepted: 2, sent: 0, failed: 0, canceled: 1, segments: 4 }
  for (const _ of ['pending', 'added up']) {
    expect((await usageOf(apiKey, `from=${today}&to=${tomorrow}`)).body.usage).toMatchObject([rest])
    while ((await foldCounts(db, 1000)) > 0);
  }
})

test('usage is removed by whole months, which ended as long ago as it is kept', async () => {
  const { accountId, channelId } = await buildAccount(service)
  const kept = { days: 90, mediaHours: 24, callbackDays: 7, auditDays: 365, usageMonths: 25 }
  const first = new Date()
  first.setUTCDate(1)
  first.setUTCMonth(first.getUTCMonth() - 25)
  const last = new Date(first.getTime() - 86_400_000)
  const zero = { sent: 0, ...zeros, read: 0, canceled: 0, segments: 0 }
  const row = { accountId, channelId, accepted: 1, priority: 'normal' as const, ...zero }
  const days = [last, first].map((day) => day.toISOString().slice(0, 10))
  await db.insert(usageCounts).values(days.map((day) => ({ ...row, day })))
  while (((await retentionTrims(kept).usage?.(db, 100)) ?? 0) > 0);
  const left = await db.select().from(usageCounts).where(eq(usageCounts.accountId, accountId))
  expect(left.map(({ day }) => day)).toEqual([days[1]])
})

test('another permission reads no usage', async () => {
  const { apiKey } = await buildAccount(service)
  expectError(await usageOf(apiKey, `from=${today}&to=${tomorrow}`), 403)
})

test('outbound usage prints a month by channel, as JSON and as CSV', async () => {
  const { account, other } = await buildUsed()
  const args = ['usage', '--account', account.accountId, '--month', today.slice(0, 7)]
  const { stdout } = await runCli(service, ...args, '--by', 'day')
  const sums = { accepted: 3, sent: 0, ...zeros, canceled: 1, segments: 6 }
  expect(JSON.parse(stdout).usage).toEqual([{ day: today, ...sums, cost: {} }])
  const asCsv = await startCli(service, {}, ...args, '--by', 'channel', '--csv').ended
  const [header, ...rows] = asCsv.stdout.trim().split(/\r?\n/)
  const columns = ['channelId', 'channelName', ...Object.keys(sums)]
  expect(header).toBe(columns.map((name) => `"${name}"`).join(','))
  const of = (id: string) => rows.find((row) => row.startsWith(`"${id}"`))?.replaceAll('"', '')
  expect(rows).toHaveLength(2)
  expect(of(account.channelId)).toMatch(/,1,0,0,0,0,0,0,2$/)
  expect(of(other.channelId)).toMatch(/,2,0,0,0,0,0,1,4$/)
  const both = await runCli(service, ...args, '--csv')
  expect(both).toMatchObject({ status: 64, stdout: '' })
  expect(both.stderr).toContain('Use --csv or --json, not both')
  const empty = ['usage', '--account', account.accountId, '--month', '2020-02', '--by', 'channel', '--csv']
  expect((await startCli(service, {}, ...empty).ended).stdout.trim()).toBe(header)
})

test.each(['2026-13', '2026-1', '2026', 'October', '2026-10-01'])(
  'a month that is none is one line: %s',
  async (month) => {
    const { accountId } = await buildAccount(service)
    const { status, stdout, stderr } = await runCli(
      service,
      'usage',
      '--account',
      accountId,
      '--month',
      month,
    )
    expect({ status, stdout }).toEqual({ status: 64, stdout: '' })
    expect(stderr.trim().split('\n')).toHaveLength(1)
    expect(stderr).toContain('Use a month such as 2026-10')
  },
)
