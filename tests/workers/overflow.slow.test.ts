import { beforeEach, expect, test } from 'vitest'
import { replaySend } from '../../db/sends/replays.ts'
import { ofSend } from '../../src/platform/redis/shard.ts'
import { restoreWakeUps } from '../../src/queue/queue.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { startReconciler } from '../../workers/upkeep/reconcile.ts'
import { beginAttempt, endAttempt, rowOf } from '../support/attempts.ts'
import { acceptBatch, manyOf } from '../support/batches.ts'
import {
  type Account,
  accept,
  buildAccount,
  buildChannel,
  newContact,
  textBody,
} from '../support/builders.ts'
import { loseWakeUps, queueOf, wakeUpOf, wakeUpsLeft } from '../support/queue.ts'
import { serviceOfFile } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

let account: Account

/** No worker takes its wake-ups. */
const service = await serviceOfFile()
beforeEach(async () => {
  account = await buildAccount(service)
})

const queuesOf = (requestIds: readonly string[]) => Promise.all(requestIds.map((id) => queueOf(service, id)))
const times = <T>(count: number, what: T): T[] => Array<T>(count).fill(what)

async function acceptSome(count: number, by: Pick<Account, 'apiKey' | 'channelId'> = account) {
  const ids: string[] = []
  for (let i = 0; i < count; i++) ids.push(await accept(service, by, textBody()))
  return ids
}

async function end(requestId: string, status: 'sent' | 'failed' = 'sent'): Promise<void> {
  const send = await beginAttempt(service, requestId, 'ending')
  await endAttempt(
    service,
    send,
    status === 'sent' ? { outcome: 'sent' } : { outcome: 'rejected', fault: 'recipient', reason: 'no' },
  )
}

const buildChannels = (count: number) =>
  Promise.all(Array.from({ length: count }, () => buildChannel(service, account.accountId)))

/** Runs a reconciler without a worker, so that no wake-up is processed, until `isDone`. */
async function reconcileUntil(what: string, isDone: () => Promise<boolean>): Promise<void> {
  const permits = createPermits(service.runtime)
  const reconciler = startReconciler(service.runtime, permits)
  await eventually(what, isDone)
  await reconciler.stop()
  permits.stop()
}

/** As if they had been waiting for some time. */
async function letThemBeOverdue(): Promise<void> {
  await service.runtime.db.$client.query(
    "update sends set next_attempt_at = next_attempt_at - interval '1 minute' where account_id = $1",
    [account.accountId],
  )
}

test('the first sixteen unfinished sends of a channel are in the ordinary queue, those beyond in the overflow', async () => {
  const ids = await acceptSome(19)
  expect(await queuesOf(ids)).toEqual([...times(16, 'ordinary'), ...times(3, 'overflow')])
})

test('the quota counts the same within one insert and over several, and for each channel by itself', async () => {
  const other = { ...account, channelId: await buildChannel(service, account.accountId) }
  const both = await acceptBatch(
    service,
    Array.from({ length: 36 }, (_, i) => (i % 2 ? other : account)),
  )
  expect(await queuesOf(both)).toEqual([...times(32, 'ordinary'), ...times(4, 'overflow')])
  const third = { ...account, channelId: await buildChannel(service, account.accountId) }
  const first = await acceptBatch(service, manyOf(9, third))
  const second = await acceptBatch(service, manyOf(9, third))
  expect(await queuesOf([...first, ...second])).toEqual([...times(16, 'ordinary'), ...times(2, 'overflow')])
})

test('an account has a quota of a hundred over all its channels, within one insert and over several', async () => {
  const channels = (await buildChannels(12)).map((channelId) => ({ ...account, channelId }))
  const [last, ...others] = channels
  const batch = await acceptBatch(
    service,
    others.flatMap((channel) => manyOf(9, channel)),
  )
  expect(await queuesOf(batch)).toEqual([...times(99, 'ordinary')])
  const more = await acceptBatch(service, manyOf(3, last ?? account))
  expect(await queuesOf(more)).toEqual(['ordinary', 'overflow', 'overflow'])
})

test('a hundred and ten sends in one insert use the quota of a hundred of their account, and no more', async () => {
  const channels = await buildChannels(11)
  const ids = await acceptBatch(
    service,
    channels.flatMap((channelId) => manyOf(10, { ...account, channelId })),
  )
  expect(await queuesOf(ids)).toEqual([...times(100, 'ordinary'), ...times(10, 'overflow')])
})

test("a channel's flood takes no quota of the account's other channels, in the same insert either", async () => {
  const other = { ...account, channelId: await buildChannel(service, account.accountId) }
  const ids = await acceptBatch(service, [...manyOf(150, account), ...manyOf(3, other)])
  expect(await queuesOf(ids.slice(150))).toEqual(times(3, 'ordinary'))
})

test('the flood of one account uses up nothing of the quota of another', async () => {
  const other = await buildAccount(service)
  const flood = (await buildChannels(11)).flatMap((channelId) => manyOf(15, { ...account, channelId }))
  const ids = await acceptBatch(service, [...flood, ...manyOf(16, other)])
  expect(await queuesOf(ids.slice(flood.length))).toEqual(times(16, 'ordinary'))
  expect(await queuesOf(await acceptSome(1, other))).toEqual(['overflow'])
})

test('quota is freed when sends end, with success or not, and not while they wait for a retry', async () => {
  const [first = '', second = '', third = ''] = await acceptSome(21)
  await end(first)
  await end(second, 'failed')
  const retried = await beginAttempt(service, third, 'retrying')
  await endAttempt(service, retried, { outcome: 'retry_later', fault: 'provider', reason: 'busy' })
  expect(await queuesOf(await acceptSome(3))).toEqual(['ordinary', 'ordinary', 'overflow'])
})

test('a send stays in its queue when quota is freed', async () => {
  const ids = await acceptSome(17)
  for (const id of ids.slice(0, 5)) await end(id)
  expect(await queueOf(service, ids[16] ?? '')).toBe('overflow')
  expect(await rowOf(service, ids[16] ?? '')).toMatchObject({ overflow: true })
})

test('media sends use quota and overflow like others', async () => {
  const media = { mediaType: 'document', base64: Buffer.from('some text').toString('base64') }
  const ids: string[] = []
  for (let i = 0; i < 18; i++) {
    ids.push(await accept(service, account, { ...textBody(), message: { type: 'media', media } }))
  }
  expect(await queuesOf(ids)).toEqual([...times(16, 'ordinary'), ...times(2, 'overflow')])
})

test('the next send of a lane is woken in its own queue', async () => {
  const contact = { type: 'phone', value: newContact() } as const
  const ids = await acceptBatch(service, times(18, { ...account, contact }))
  for (const id of ids) await (await wakeUpOf(service, id))?.remove()
  for (const [index, id] of ids.slice(0, 17).entries()) {
    await end(id)
    expect(await queuesOf(ids.slice(index + 1, index + 3))).toEqual(
      [index < 15 ? 'ordinary' : 'overflow', undefined].slice(0, 17 - index),
    )
  }
})

test('wake-ups that Redis lost are added again, each in its queue', async () => {
  const ids = await acceptSome(20)
  await loseWakeUps(service)
  expect(await wakeUpsLeft(service)).toEqual({ ordinary: 0, overflow: 0 })
  await letThemBeOverdue()
  await reconcileUntil('all wake-ups are back', async () => (await queuesOf(ids)).every(Boolean))
  expect(await queuesOf(ids)).toEqual([...times(16, 'ordinary'), ...times(4, 'overflow')])
})

test('only the head of a lane whose wake-ups are lost is woken', async () => {
  const contact = { type: 'phone', value: newContact() } as const
  const ids = await acceptBatch(service, times(50, { ...account, contact }))
  const elsewhere = await acceptSome(1, {
    ...account,
    channelId: await buildChannel(service, account.accountId),
  })
  await loseWakeUps(service)
  await letThemBeOverdue()
  await reconcileUntil('the reconciler has been there', async () =>
    (await queuesOf(elsewhere)).every(Boolean),
  )
  expect(await queuesOf(ids)).toEqual(['ordinary', ...times(49, undefined)])
})

test('an overflow send is replayed in the overflow', async () => {
  const id = (await acceptSome(17)).at(-1) ?? ''
  await end(id, 'failed')
  await (await wakeUpOf(service, id))?.remove()
  expect(await replaySend(service.runtime.db, id)).toBe(true)
  await letThemBeOverdue()
  await reconcileUntil('it has its wake-up', async () => (await queueOf(service, id)) !== undefined)
  expect(await queueOf(service, id)).toBe('overflow')
})

test('a wake-up of the overflow that is scheduled for much later is promoted, and keeps its permit', async () => {
  const [id = ''] = (await acceptSome(17)).slice(16)
  const shard = ofSend(service.runtime.shards, id)
  const { overflow } = shard
  await (await wakeUpOf(service, id))?.remove()
  const opts = { jobId: id, delay: 3_600_000, priority: 7 }
  await overflow.add('send', { requestId: id }, opts)
  expect(await restoreWakeUps(shard, [{ requestId: id, overflowOf: account.channelId }])).toBe(1)
  expect(await overflow.getJobState(id)).toBe('prioritized')
  expect(await overflow.getJob(id)).toMatchObject({ priority: 7 })
})
