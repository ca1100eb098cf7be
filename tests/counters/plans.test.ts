import { expect, test } from 'vitest'
import { countByHour, countFailures } from '../../db/counters/read.ts'
import { readAttention } from '../../db/overview/attention.ts'
import { busiestChannels, countChannels, findLastFailures, readChannels } from '../../db/overview/channels.ts'
import { buildAccount } from '../support/builders.ts'
import { rowsRead } from '../support/rows-read.ts'
import { startTestService } from '../support/service.ts'
import { freshStores } from '../support/stores.ts'

test('pages read counters and what waits, however many sends have ended', async () => {
  const service = await startTestService({}, await freshStores())
  try {
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
      await readAttention(db)
      await busiestChannels(db, hours, { limit: 50, skip: 0 })
      await readChannels(db, [channelId])
      await countChannels(db, [channelId], hours)
      await countByHour(db, { of: 'all' }, hours)
      await countFailures(db, set, hours, 20)
      await findLastFailures(db, [channelId])
    })
    expect(read).toBeLessThanOrEqual(500)
  } finally {
    await service.stop()
  }
})
