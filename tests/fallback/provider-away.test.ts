import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { failWaiting } from '../../db/delivery/breakers.ts'
import { createFallback } from '../../src/sends/fall-back.ts'
import { timelineOf } from '../support/attempts.ts'
import { accept, textBody } from '../support/builders.ts'
import { buildChain } from '../support/fallbacks.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime

test('sends that waited too long for a provider that is away go on by the fallback, in their order, beyond its quota in the overflow', async () => {
  const { account, channels } = await buildChain(service)
  const [channelId = '', second = ''] = channels
  const contact = '+4915166666666'
  const ids: string[] = []
  for (let n = 0; n < 20; n++)
    ids.push(await accept(service, account, textBody(`${n}`, n < 2 ? contact : undefined)))
  await db.execute(sql`
    update channels set breaker_open_until = now(), breaker_opened_at = now() - interval '1 hour', breaker_openings = 1
    where id = ${channelId}`)
  await db.execute(sql`
    update sends set next_attempt_at = now() - interval '1 hour' where channel_id = ${channelId}`)
  const which = {
    channelId,
    longerThanSeconds: 60,
    reason: "the channel's provider kept failing; its last answer: 503",
    limit: 100,
  }
  const failed = await failWaiting(
    db,
    { ...which, fallsBackFrom: 'sandbox' },
    createFallback(service.runtime),
  )
  expect(failed).toHaveLength(20)
  const { rows } = await db.execute<{
    request_id: string
    overflow: boolean
    channel_id: string
    lane: string
    behind: string
  }>(
    sql`select request_id, overflow, channel_id, lane, behind from sends where account_id = ${account.accountId} order by seq`,
  )
  expect(rows.map((row) => row.request_id)).toEqual(ids)
  expect(new Set(rows.map((row) => row.channel_id))).toEqual(new Set([second]))
  expect(rows[1]).toMatchObject({ lane: rows[0]?.lane, behind: ids[0] })
  expect(rows.filter(({ overflow }) => overflow)).toHaveLength(4)
  expect((await timelineOf(service, ids[0] ?? '')).events).toMatchObject([
    { event: 'accepted' },
    { event: 'fell_back', reason: which.reason, toChannelId: second },
  ])
})
