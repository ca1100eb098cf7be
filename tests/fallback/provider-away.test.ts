import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { holdChannel } from '../../db/accounts/channels.ts'
import { createEndSends } from '../../src/sends/end-sends.ts'
import { timelineOf } from '../support/attempts.ts'
import { accept, buildAccount, textBody } from '../support/builders.ts'
import { buildChain } from '../support/fallbacks.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const { db } = service.runtime
const { failWaiting } = createEndSends(service.runtime)

const hasFailedForAnHour = (channelId: string) =>
  db.execute(sql`
    update channels set breaker_open_until = now(), breaker_opened_at = now() - interval '1 hour', breaker_openings = 1
    where id = ${channelId}`)
const haveBeenDueForAnHour = (channelId: string) =>
  db.execute(sql`
    update sends set next_attempt_at = now() - interval '1 hour' where channel_id = ${channelId}`)

test('sends that waited too long for a provider that is away go on by the fallback, in their order, beyond its quota in the overflow', async () => {
  const { account, channels } = await buildChain(service)
  const [channelId = '', second = ''] = channels
  const contact = '+4915166666666'
  const ids: string[] = []
  for (let n = 0; n < 20; n++)
    ids.push(await accept(service, account, textBody(`${n}`, n < 2 ? contact : undefined)))
  await hasFailedForAnHour(channelId)
  await haveBeenDueForAnHour(channelId)
  const which = {
    channelId,
    longerThanSeconds: 60,
    reason: "the channel's provider kept failing; its last answer: 503",
    limit: 100,
  }
  const failed = await failWaiting({ ...which, fallsBackFrom: 'sandbox' })
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

test('sends of a held channel wait on, however long its provider has been away', async () => {
  const account = await buildAccount(service)
  const { channelId } = account
  await accept(service, account, textBody())
  await hasFailedForAnHour(channelId)
  await haveBeenDueForAnHour(channelId)
  const which = { channelId, longerThanSeconds: 60, reason: 'away', limit: 100 }
  const giveUp = () => failWaiting(which)
  await holdChannel(db, channelId, 'held')
  expect(await giveUp()).toEqual([])
  await db.execute(sql`update channels set held_at = null, held_reason = null where id = ${channelId}`)
  expect(await giveUp()).toHaveLength(1)
})
