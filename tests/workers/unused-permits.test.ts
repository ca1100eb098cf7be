import { setTimeout as sleep } from 'node:timers/promises'
import { sql } from 'drizzle-orm'
import { expect, test } from 'vitest'
import type { ChannelFields } from '../../db/accounts/channels.ts'
import { openBreaker } from '../../db/delivery/breakers.ts'
import { findBusyChannels } from '../../db/delivery/due-sends.ts'
import { grantPermits } from '../../db/delivery/permits.ts'
import { unusedKeptSeconds } from '../../src/core/sends/delivery-times.ts'
import { defaultStalledAfterSeconds } from '../../workers/queue/wake-up-flow.ts'
import { claimBy } from '../support/attempts.ts'
import { soonReconciled } from '../support/service.ts'
import { timed, unlessStoodStill } from '../support/standstill.ts'
import { startTraffic } from '../support/traffic.ts'
import { accept as accepting } from '../support/webhook-receiver.ts'

const valid = { validSeconds: 0.2 }
const unusedForMs = 500

/** A channel with sends that no worker takes, because none runs. */
async function startWaiting(context: Parameters<typeof startTraffic>[0], limits: Partial<ChannelFields>) {
  const { service, ...traffic } = await startTraffic(context, {}, { times: soonReconciled })
  const { db } = service.runtime
  const channelId = await traffic.buildWebhook(accepting, limits)
  const ids = await traffic.sendSome(channelId, 3)
  return {
    ...traffic,
    service,
    db,
    channelId,
    ids,
    grant: () => grantPermits(db, [channelId], { probeSeconds: 30, ...valid }),
    async hasUnused() {
      const [channel] = await findBusyChannels(db, { overdueByMs: 0, unusedForMs })
      return channel?.hasUnusedPermits ?? false
    },
  }
}

test.concurrent.for([
  ['a maximum in flight', { maxInFlight: 2 }],
  ['a rate, whose permits end sooner', { rateCalls: 10, rateSeconds: 1 }],
] as const)(
  'permits that no worker uses are seen, also after further ones were granted: %s',
  async ([, limits], context) => {
    const { ids, grant, hasUnused, startWorkers, expectSent } = await startWaiting(context, limits)
    const granted = await timed(async () => {
      await grant()
      return { hasUnused: await hasUnused() }
    })
    unlessStoodStill(granted, () => expect(granted.hasUnused).toBe(false))
    const until = performance.now() + 3 * unusedForMs
    while (performance.now() < until) {
      await sleep(100)
      await grant()
    }
    expect(await hasUnused()).toBe(true)
    await startWorkers('a')
    await expectSent(ids)
    expect(await hasUnused()).toBe(false)
  },
)

test.concurrent('a channel at its limit has none: its permits are in use', async (context) => {
  const { service, ids, grant, hasUnused } = await startWaiting(context, { maxInFlight: 1 })
  await claimBy(service, ids[0] ?? '', 'a')
  await sleep(2 * unusedForMs)
  await grant()
  expect(await hasUnused()).toBe(false)
})

test.concurrent('a channel whose breaker opened has none: its permits can’t be used', async (context) => {
  const { db, channelId, grant, hasUnused } = await startWaiting(context, { maxInFlight: 1 })
  await grant()
  await sleep(2 * unusedForMs)
  expect(await hasUnused()).toBe(true)
  await openBreaker(db, { channelId, isAgain: false })
  expect(await hasUnused()).toBe(false)
})

test.concurrent('a single lost wake-up is seen for less time than it takes to count as stalled', async (context) => {
  const { db, grant, hasUnused } = await startWaiting(context, { maxInFlight: 1 })
  await grant()
  const endedFor = (seconds: number) =>
    db.execute(sql`update permits set unused_since = now() - interval '1 hour',
                          valid_until = clock_timestamp() - ${seconds} * interval '1 s'`)
  await endedFor(unusedKeptSeconds - 2)
  expect(await hasUnused()).toBe(true)
  await endedFor(unusedKeptSeconds + 1)
  expect(await hasUnused()).toBe(false)
  expect(unusedKeptSeconds + 3).toBeLessThan(defaultStalledAfterSeconds)
})
