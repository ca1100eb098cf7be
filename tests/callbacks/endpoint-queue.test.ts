import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import type { Advanced, CallBack } from '../../workers/call-back.ts'
import { CallSlots, type EndpointKind } from '../../workers/callbacks/call-slots.ts'
import { startEndpointQueue } from '../../workers/callbacks/endpoint-queue.ts'
import { faultsOfShards } from '../../workers/upkeep/queue-faults.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

async function startQueue(
  advance: CallBack['advance'],
  onStop = () => {},
  settings: Record<string, string> = {},
) {
  const { runtime, stop } = await startTestService(settings)
  const callBack = {
    advance,
    wakeIfCalled: () => false,
    isCalled: () => false,
    claimIds: () => [],
    stop: onStop,
  }
  const slots = new CallSlots(runtime.settings.CALLBACK_CONCURRENCY, workerTimes)
  const queue = startEndpointQueue(runtime, callBack, slots, faultsOfShards(runtime.shards), workerTimes)
  onTestFinished(async () => {
    await queue.stop()
    await stop()
  })
  await queue.ready()
  return { ...queue, slots, runtime }
}

test.each([
  [64, 320],
  [1000, 1256],
])(
  'with %i calls at a time, %i endpoints are claimed at once; the next one when one of these claims ends',
  async (calls, claims) => {
    const ends = new Map<string, () => void>()
    let isStopping = false
    const queue = await startQueue(
      async (endpointId) => {
        if (!isStopping) await new Promise<void>((resolve) => ends.set(endpointId, resolve))
        return 'done'
      },
      () => {
        isStopping = true
        for (const end of ends.values()) end()
      },
      { CALLBACK_CONCURRENCY: String(calls) },
    )

    const endpointIds = Array.from({ length: claims + 1 }, () => uuidv7())
    queue.wake(endpointIds)
    expect([...ends.keys()]).toEqual(endpointIds.slice(0, claims))
    ends.get(endpointIds[0] ?? '')?.()
    await eventually('the last one is called', async () => ends.size === endpointIds.length)
  },
)

test.each(['refused', 'no_slot_answering', 'no_slot_silent', 'no_slot_failing'] as const)(
  'if an endpoint without a wake-up was left to others (%s), its next callback adds one',
  async (result) => {
    let count = 0
    const queue = await startQueue(async () => (count++ === 0 ? result : 'done'))
    for (const kind of ['silent', 'failing'] as const) while (queue.slots.take(kind));
    const endpointId = uuidv7()
    queue.wake([endpointId])
    await eventually('the first call', async () => count === 1)
    await sleep(50)
    queue.wake([endpointId])
    await eventually('another call, by its job', async () => count === 2)
  },
)

/** Of a worker with one slot for those that don't answer, which each endpoint holds until its call ends. */
async function startNarrowQueue(kindOf: (endpointId: string) => EndpointKind = () => 'silent') {
  const called: string[] = []
  const ends = new Map<string, () => void>()
  /** Of the next advance of an endpoint. */
  const results = new Map<string, Advanced>()
  const queue = await startQueue(
    async (endpointId, given) => {
      const result = results.get(endpointId)
      results.delete(endpointId)
      if (result) return result
      const slot = await queue.slots.acquire(kindOf(endpointId), given)
      if (!slot) return `no_slot_${kindOf(endpointId)}`
      called.push(endpointId)
      await new Promise<void>((resolve) => ends.set(endpointId, resolve))
      slot.free()
      return 'done'
    },
    () => {
      for (const end of ends.values()) end()
    },
    { CALLBACK_CONCURRENCY: '2' },
  )
  const end = (endpointId = '') => ends.get(endpointId)?.()
  return { ...queue, called, end, results }
}

test.each(['silent', 'failing'] as const)(
  '%s endpoints without a slot get those that become free in their order',
  async (kind) => {
    const { wake, called, end } = await startNarrowQueue(() => kind)
    const endpointIds = Array.from({ length: 4 }, () => uuidv7())
    for (const endpointId of endpointIds) {
      wake([endpointId])
      // Until it is left.
      await sleep(20)
    }
    for (const [at, endpointId] of endpointIds.entries()) {
      await eventually('the next one', async () => called.length === at + 1)
      expect(called.at(-1)).toBe(endpointId)
      end(endpointId)
    }
  },
)

test('an endpoint gets a slot as soon as one is free, although the claim of the one that had it goes on', async () => {
  const [first, second] = [uuidv7(), uuidv7()]
  const called: string[] = []
  let endCall = () => {}
  let endClaims = () => {}
  const claims = new Promise<void>((resolve) => {
    endClaims = resolve
  })
  const queue = await startQueue(
    async (endpointId, given) => {
      const slot = await queue.slots.acquire('silent', given)
      if (!slot) return 'no_slot_silent'
      called.push(endpointId)
      endCall = slot.free
      await claims
      return 'done'
    },
    () => endClaims(),
    { CALLBACK_CONCURRENCY: '2' },
  )
  for (const endpointId of [first, second]) {
    queue.wake([endpointId])
    await sleep(20)
  }
  endCall()
  await eventually('the second one is called', async () => called.includes(second))
})

test('a slot that an endpoint doesn’t use goes to the next one', async () => {
  const [first, disabled, third] = [uuidv7(), uuidv7(), uuidv7()]
  let isDisabled = false
  const called: string[] = []
  let end = () => {}
  const queue = await startQueue(
    async (endpointId, given) => {
      if (isDisabled && endpointId === disabled) return 'refused'
      const slot = await queue.slots.acquire('silent', given)
      if (!slot) return 'no_slot_silent'
      called.push(endpointId)
      await new Promise<void>((resolve) => {
        end = resolve
      })
      slot.free()
      return 'done'
    },
    () => end(),
    { CALLBACK_CONCURRENCY: '2' },
  )
  for (const endpointId of [first, disabled, third]) {
    queue.wake([endpointId])
    await sleep(20)
  }
  isDisabled = true
  end()
  await eventually('the third one is called', async () => called.includes(third))
  expect(called).toEqual([first, third])
})

test('one in line that is woken while it is being called keeps its place', async () => {
  const [holder, first, second] = [uuidv7(), uuidv7(), uuidv7()]
  const { wake, called, end, results } = await startNarrowQueue()
  for (const endpointId of [holder, first, second]) {
    wake([endpointId])
    await sleep(20)
  }
  results.set(first, 'under_way')
  // After its time in line, its callbacks wake it again.
  await sleep(workerTimes.putOffMs)
  wake([first])
  await eventually('it was woken', async () => results.size === 0)
  await sleep(20)
  end(holder)
  await eventually('the next call', async () => called.length === 2)
  expect(called).toEqual([holder, first])
})

test('a worker that stops adds the wake-ups of its endpoints at once', async () => {
  const queue = await startQueue(async () => 'refused')
  const [left, other] = [uuidv7(), uuidv7()]
  queue.wake([left])
  await sleep(50)
  // Is gathered.
  queue.wake([left])
  await queue.stop()
  queue.wake([other])
  await eventually('a wake-up', async () => await queue.runtime.callbacks.getJob(other), 300)
})

test('an endpoint for which a slot became free just before it stood in line gets it', async () => {
  const endpointId = uuidv7()
  let count = 0
  const queue = await startQueue(
    async (_, given) => {
      if (count++ > 0) return 'done'
      expect(given).toBeUndefined()
      return 'no_slot_silent'
    },
    () => {},
    { CALLBACK_CONCURRENCY: '2' },
  )
  queue.wake([endpointId])
  await eventually('it is called', async () => count === 2)
})
