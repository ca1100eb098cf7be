import { expect, test } from 'vitest'
import { openBreaker } from '../../db/delivery/breakers.ts'
import { channels, permits } from '../../db/schema.ts'
import { insertBatch, manyOf } from '../support/batches.ts'
import { startFollower } from '../support/follower.ts'
import { startTraffic } from '../support/traffic.ts'
import { eventually } from '../support/wait.ts'
import {
  accept as accepting,
  answer,
  type Behaviour,
  closeAfterReading,
  firstly,
  gate,
} from '../support/webhook-receiver.ts'

const settings = { PROVIDER_TIMEOUT_SECONDS: '25' }

test.for<[string, Behaviour]>([
  ['sent', accepting],
  ['failed', answer(400)],
  ['uncertain', closeAfterReading],
])(
  'when the head of a lane, one of the few calls of a silent overflow, is %s, the second follows',
  async ([status, behaviour], context) => {
    const { service, ...traffic } = await startTraffic(context, settings)
    const head = gate(behaviour)
    const channelId = await traffic.buildWebhook(firstly(head.behaviour, accepting))
    // They use up the channel's quota in the ordinary queue, and have no wake-up.
    await insertBatch(service, manyOf(16, { ...traffic.account, channelId }))
    await startFollower(context, service)
    const [first = '', second = ''] = await traffic.sendLane(channelId, 2)
    await eventually('the call of the first', async () => head.waiting === 1)
    expect(await service.runtime.db.select().from(permits)).toMatchObject([{ requestId: first }])
    head.open()
    expect(await traffic.ended(first)).toMatchObject({ status })
    await traffic.expectSent([second])
  },
)

test.for<[string, Behaviour]>([
  ['sent', accepting],
  ['failed', answer(400)],
])(
  'when the head of a lane, the probe of a circuit breaker, is %s, the others follow in order',
  async ([status, behaviour], context) => {
    const { service, ...traffic } = await startTraffic(context, settings)
    const probe = gate(behaviour)
    const channelId = await traffic.buildWebhook(firstly(probe.behaviour, accepting))
    const { db } = service.runtime
    await openBreaker(db, { channelId, isAgain: false })
    await db.update(channels).set({ breakerOpenUntil: new Date() })
    await startFollower(context, service)
    const ids = await traffic.sendLane(channelId, 3)
    const [first = '', ...others] = ids
    await eventually('the probe', async () => probe.waiting === 1)
    expect(await db.select().from(permits)).toMatchObject([{ requestId: first, isProbe: true }])
    probe.open()
    expect(await traffic.ended(first)).toMatchObject({ status })
    await traffic.expectSent(others)
    expect(traffic.orderOf(ids)).toEqual(ids)
    expect(await traffic.channelRow(channelId)).toMatchObject({ breakerOpenUntil: null })
  },
)
