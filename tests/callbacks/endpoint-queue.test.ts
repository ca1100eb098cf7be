import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import type { Advanced } from '../../workers/call-back.ts'
import { startEndpointQueue } from '../../workers/callbacks/endpoint-queue.ts'
import { faultsOfShards } from '../../workers/upkeep/queue-faults.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

async function startQueue(
  advance: (endpointId: string) => Promise<Advanced>,
  onStop = () => {},
  settings: Record<string, string> = {},
) {
  const { runtime, stop } = await startTestService(settings)
  const callBack = { advance, wakeIfCalled: () => false, claimIds: () => [], stop: onStop }
  const queue = startEndpointQueue(runtime, callBack, faultsOfShards(runtime.shards), workerTimes)
  onTestFinished(async () => {
    await queue.stop()
    await stop()
  })
  await queue.ready()
  return queue
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
    const endpointId = uuidv7()
    queue.wake([endpointId])
    await eventually('the first call', async () => count === 1)
    await sleep(50)
    queue.wake([endpointId])
    await eventually('another call, by its job', async () => count === 2)
  },
)
