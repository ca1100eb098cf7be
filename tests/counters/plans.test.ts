import { afterAll, beforeAll, expect, test } from 'vitest'
import { connectDatabase } from '../../db/connection/client.ts'
import { countByHour, countFailures } from '../../db/counters/read.ts'
import { readAttention } from '../../db/overview/attention.ts'
import { busiestChannels, countChannels, findLastFailures, readChannels } from '../../db/overview/channels.ts'
import { hourMs } from '../../src/core/durations.ts'
import { buildAccount } from '../support/builders.ts'
import { rangesRead, rowsRead } from '../support/rows-read.ts'
import { startTestService, type TestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

let service: TestService

beforeAll(async () => {
  service = await startTestService({}, await freshStores())
})
afterAll(() => service.stop())

test('pages read counters and what waits, however many sends have ended', async () => {
  const { db } = service.runtime
  const { accountId, channelId } = await buildAccount(service)
  await db.$client.query(
    `insert into sends (request_id, account_id, channel_id, contact_type, contact_value, message_type, message,
                          close_conversation, status, finished_at, failure, counted_as)
       select uuidv7(), $1, $2, 'phone', '+49' || n, 'text', '{"type": "text", "text": {"value": "Hello"}}', false, 'failed',
              now(), 'refused', 'failed//' from generate_series(1, 20000) n`,
    [accountId, channelId],
  )
  await db.$client.query('vacuum analyze sends')
  const hours = [new Date(Math.floor(Date.now() / 3_600_000) * 3_600_000)]
  const set = { of: 'channel', id: channelId } as const
  const read = await rowsRead(db, async () => {
    await readAttention(db, undefined)
    await busiestChannels(db, hours, { limit: 50, skip: 0 })
    await readChannels(db, [channelId])
    await countChannels(db, [channelId], hours)
    await countByHour(db, { of: 'all' }, hours)
    await countFailures(db, set, hours, 20)
    await findLastFailures(db, [channelId])
  })
  expect(read).toBeLessThanOrEqual(500)
})

test.each(['force_custom_plan', 'force_generic_plan'])(
  'with %s, counters are read as one range for each channel, however many channels there are',
  async (mode) => {
    const [manyChannels, weekHours] = [300, 168]
    const lastHour = Math.floor(Date.now() / hourMs) * hourMs
    const hours = Array.from({ length: weekHours }, (_, index) => new Date(lastHour - index * hourMs))
    const { accountId, channelId } = await buildAccount(service)
    const { $client } = service.runtime.db
    const { rows } = await $client.query<{ id: string }>(
      `with others as (select uuidv7() as id from generate_series(1, ${manyChannels})), counted as (
         insert into send_counts (hour, channel_id, account_id, accepted, sent, delivered, read, undelivered, failed, uncertain, canceled)
         select hour, c.id, $1, 1, 1, 0, 0, 0, 0, 0, 0 from unnest($2::timestamptz[]) hour, (select id from others union all select $3) c)
       select id from others`,
      [accountId, hours, channelId],
    )
    await $client.query('vacuum analyze send_counts')
    const url = new URL(service.stores.databaseUrl)
    url.searchParams.set('options', `-c plan_cache_mode=${mode}`)
    const db = connectDatabase(url.href, { poolSize: 1, queryTimeoutMs: 60_000, onConnectionLost: () => {} })
    const ofAPage = rows.slice(0, 50).map(({ id }) => id)
    const ofAll = { of: 'all' } as const
    const ofAccount = { of: 'account', id: accountId } as const
    const ofChannel = { of: 'channel', id: channelId } as const
    const readings: [channels: number, work: () => Promise<unknown>][] = [
      [50, () => countChannels(db, ofAPage, hours)],
      ...[ofAll, ofAccount, ofChannel].map((set): (typeof readings)[number] => [
        1,
        () => countByHour(db, set, hours),
      ]),
    ]
    try {
      for (const [channels, work] of readings) {
        expect(await rowsRead(db, work, 'send_counts')).toBeLessThanOrEqual(channels * weekHours)
        expect(await rangesRead(db, work, 'send_counts')).toBeLessThanOrEqual(channels)
      }
      expect(await countChannels(db, [channelId, channelId], hours)).toEqual(
        await countChannels(db, [channelId], hours),
      )
    } finally {
      await db.$client.end()
    }
  },
)
