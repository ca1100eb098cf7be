import { eq } from 'drizzle-orm'
import { Webhook } from 'standardwebhooks'
import { expect, test } from 'vitest'
import { setCeilings } from '../../db/ceilings/ceilings.ts'
import { reportCeilings } from '../../db/ceilings/report-ceilings.ts'
import { ceilings } from '../../db/schema.ts'
import { parseCeiling } from '../../src/core/accounts/ceiling.ts'
import { buildEndpoint } from '../support/endpoints.ts'
import { faultBy } from '../support/openapi.ts'
import { waitingForLocks } from '../support/stores.ts'
import { startTraffic, type Traffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import { accept as accepting } from '../support/webhook-receiver.ts'

/** By month: no test runs into the next one, but in the last minute of a month. */
async function limit({ service, account }: Traffic, ownerId: string, amount: number) {
  const ceiling = parseCeiling(`${amount} messages/month`)
  await setCeilings(
    service.runtime.db,
    { ownerId, accountId: account.accountId },
    ceiling === undefined ? [] : [ceiling],
  )
}

const logged = ({ service }: Traffic) => service.logs.filter(({ event }) => event === 'ceiling_used')
const percents = (traffic: Traffic) => logged(traffic).map(({ percent }) => percent)
const isReported = (traffic: Traffic, wanted: number[]) =>
  eventually(`reports at ${wanted}`, async () => percents(traffic).length >= wanted.length).then(() =>
    expect(percents(traffic)).toEqual(wanted),
  )

const nextMonth = () => {
  const now = new Date()
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1)).toISOString()
}

test('a ceiling is reported at 80 and at 100 percent, once each in a period by two workers, and again in the next one', async (context) => {
  const traffic = await startTraffic(context)
  const { service } = traffic
  const channelId = await traffic.buildWebhook(accepting)
  await limit(traffic, channelId, 5)
  await traffic.startWorkers('a', 'b')
  const ids = await traffic.sendSome(channelId, 3)
  await traffic.expectSent(ids)
  await traffic.expectSent(await traffic.sendSome(channelId, 1))
  await isReported(traffic, [80])
  await traffic.expectSent(await traffic.sendSome(channelId, 1))
  await isReported(traffic, [80, 100])
  expect(logged(traffic)[0]).toMatchObject({
    level: 'info',
    accountId: traffic.account.accountId,
    channelId,
    ceiling: '5 messages/month',
    until: nextMonth(),
  })
  await service.runtime.db.$client.query(`update ceilings set starts_at = '-infinity'`)
  expect(await reportCeilings(service.runtime.db, 10)).toEqual([])
  // The API has read within seconds that there is room again.
  const first = await eventually('room', () => traffic.send(channelId).catch(() => false as const))
  await traffic.expectSent([first, ...(await traffic.sendSome(channelId, 3))])
  await isReported(traffic, [80, 100, 80])
})

test('a report comes with its proof at the endpoints that named it, and at no others', async (context) => {
  const traffic = await startTraffic(context)
  const { service, receiver, account } = traffic
  const channelId = await traffic.buildWebhook(accepting)
  const [named, all, others] = [1, 2, 3].map(() => receiver.at(accepting)) as [string, string, string]
  const endpoint = await buildEndpoint(service, account.accountId, named, ['account.ceiling'])
  await buildEndpoint(service, account.accountId, all)
  await buildEndpoint(service, account.accountId, others, ['message.sent'])
  await limit(traffic, account.accountId, 1)
  await traffic.startWorkers('a')
  await traffic.expectSent(await traffic.sendSome(channelId, 1))
  const callsAt = (url: string) => receiver.calls.filter(({ path }) => path === new URL(url).pathname)
  const call = await eventually('the callback', async () => callsAt(named)[0])
  new Webhook(endpoint.secret).verify(call.body, call.headers as Record<string, string>)
  const body = JSON.parse(call.body)
  expect(body).toEqual({
    type: 'account.ceiling',
    timestamp: expect.any(String),
    data: {
      accountId: account.accountId,
      channelId: null,
      ceiling: '1 messages/month',
      percent: 100,
      until: nextMonth(),
    },
  })
  expect(faultBy('CeilingUse', body)).toBeUndefined()
  const typesAt = (url: string) => callsAt(url).map((one) => JSON.parse(one.body).type)
  for (const url of [all, others]) {
    await eventually('the callback of the send', async () => callsAt(url).length > 0)
    expect(typesAt(url)).toEqual(['message.sent'])
  }
  expect(callsAt(named)).toHaveLength(1)
})

/** A ceiling of which so much is used, without a worker. */
async function use(traffic: Traffic, used: number): Promise<void> {
  await traffic.service.runtime.db
    .update(ceilings)
    .set({ used, startsAt: new Date(Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth())) })
    .where(eq(ceilings.ownerId, traffic.account.channelId))
}

const found = async ({ service }: Traffic) =>
  (await reportCeilings(service.runtime.db, 10)).map(({ report }) => report.percent)

test('of workers that look at once, one reports', async (context) => {
  const traffic = await startTraffic(context)
  await limit(traffic, traffic.account.channelId, 10)
  await use(traffic, 8)
  const { db } = traffic.service.runtime
  // Both read it before either may change it.
  const looks = await db.transaction(async (transaction) => {
    await transaction.select().from(ceilings).for('no key update')
    const both = [found(traffic), found(traffic)]
    await eventually('two that wait', async () => {
      const { rows } = await db.$client.query(waitingForLocks)
      return rows.length === both.length
    })
    return both
  })
  expect((await Promise.all(looks)).flat()).toEqual([80])
})

test('a ceiling that is raised is reported anew, and one that stays is not', async (context) => {
  const traffic = await startTraffic(context)
  const { channelId } = traffic.account
  await limit(traffic, channelId, 10)
  await use(traffic, 7)
  expect(await found(traffic)).toEqual([])
  await use(traffic, 10)
  expect(await found(traffic)).toEqual([100])
  await limit(traffic, channelId, 10)
  expect(await found(traffic)).toEqual([])
  await limit(traffic, channelId, 20)
  expect(await found(traffic)).toEqual([])
  await use(traffic, 16)
  expect(await found(traffic)).toEqual([80])
  await use(traffic, 20)
  expect(await found(traffic)).toEqual([100])
  await limit(traffic, channelId, 0)
  expect(await found(traffic)).toEqual([])
})
