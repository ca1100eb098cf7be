import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import { resumeChannel, updateChannel } from '../../db/accounts/channels.ts'
import { inTransaction } from '../../db/connection/client.ts'
import { grantPermits } from '../../db/delivery/permits.ts'
import { permits } from '../../db/schema.ts'
import { sealConfig } from '../../src/core/channels/sealed-config.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept, answer, firstly, webhookSecret } from '../support/webhook-receiver.ts'

test('limited channels keep sending although a worker is frozen while it gives permits, also the channel whose permits it was giving', async (context) => {
  const traffic = await startTraffic(context)
  const { db } = traffic.service.runtime
  const [given, other] = [
    await traffic.buildWebhook(accept, { maxInFlight: 3 }),
    await traffic.buildWebhook(accept, { maxInFlight: 3 }),
  ]
  await traffic.startWorkers('a')
  let isOver = false
  const frozen = inTransaction(db, async (transaction) => {
    await transaction.execute(sql`select from channels where id = ${given} for no key update`)
    while (!isOver) await sleep(100)
    await transaction.execute(sql`select 1`)
  })
  const failed = frozen.catch((fault: unknown) => fault)
  await traffic.expectSent([...(await traffic.sendSome(given, 5)), ...(await traffic.sendSome(other, 5))])
  isOver = true
  expect(await failed).toBeInstanceOf(Error)
})

test('a permit is for one call, even if the provider refused the channel and its config was fixed meanwhile', async (context) => {
  const traffic = await startTraffic(context)
  const { db, settings } = traffic.service.runtime
  const good = { url: traffic.receiver.at(accept), secret: webhookSecret }
  const fixConfig = () =>
    updateChannel(db, channelId, { sealedConfig: sealConfig(good, channelId, settings.CREDENTIALS_KEY) })
  const channelId: string = await traffic.buildWebhook(
    firstly(async (request, response) => {
      await fixConfig()
      await answer(410)(request, response)
    }, accept),
    { rateCalls: 1, rateSeconds: 60 },
  )
  await traffic.startWorkers('a')
  const ids = await traffic.sendSome(channelId, 1)
  await eventually('the refusal', async () =>
    traffic.service.logsOf(ids[0] ?? '').some(({ event }) => event === 'channel_held'),
  )
  expect(await db.select().from(permits)).toEqual([])
  await sleep(500)
  expect(traffic.callsOf(ids)).toHaveLength(1)
})

test('permits of a channel that isn’t held are kept when it is resumed: their sends may be about to use them', async (context) => {
  const traffic = await startTraffic(context)
  const { db } = traffic.service.runtime
  const channelId = await traffic.buildWebhook(accept, { maxInFlight: 2 })
  await traffic.sendSome(channelId, 2)
  await grantPermits(db, [channelId], { probeSeconds: 30, validSeconds: 10 })
  await resumeChannel(db, channelId)
  expect(await db.select().from(permits)).toHaveLength(2)
})
