import { setTimeout as sleep } from 'node:timers/promises'
import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import type { Advanced } from '../../workers/call-back.ts'
import { startEndpointQueue } from '../../workers/callbacks/endpoint-queue.ts'
import { faultsOfShards } from '../../workers/upkeep/queue-faults.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const claimsAtATime = 256

async function startQueue(advance: (endpointId: string) => Promise<Advanced>, onStop = () => {}) {
  const { runtime, stop } = await startTestService()
  const callBack = { advance, wakesCalled: () => false, claimIds: () => [], stop: onStop }
  const queue = startEndpointQueue(runtime, callBack, faultsOfShards(runtime.shards), workerTimes)
  onTestFinished(async () => {
    await queue.stop()
    await stop()
  })
  await queue.ready()
  return queue
}

test('an endpoint that waits for the claims of others is called when the first of them ends', async () => {
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
  )

  const endpointIds = Array.from({ length: claimsAtATime + 1 }, () => uuidv7())
  queue.wake(endpointIds)
  expect([...ends.keys()]).toEqual(endpointIds.slice(0, claimsAtATime))
  ends.get(endpointIds[0] ?? '')?.()
  await eventually('the last one is called', async () => ends.size === endpointIds.length)
})

test.each([
  { result: 'refused', so: 'wakes any worker, as another one may call it', calls: 2 },
  { result: 'put_off', so: 'does nothing, as it comes again anyway', calls: 1 },
  { result: 'crowded_out', so: 'does nothing, as it comes again anyway', calls: 1 },
] as const)('a callback of an endpoint that was $result $so', async ({ result, calls }) => {
  let count = 0
  const queue = await startQueue(async () => {
    count++
    return result
  })
  const endpointId = uuidv7()
  queue.wake([endpointId])
  await eventually('the first call', async () => count === 1)
  await sleep(50)
  queue.wake([endpointId])
  if (calls > 1) await eventually('another call', async () => count === calls)
  await sleep(200)
  expect(count).toBe(calls)
})
