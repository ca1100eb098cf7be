import { v7 as uuidv7 } from 'uuid'
import { expect, onTestFinished, test } from 'vitest'
import { startEndpointQueue } from '../../workers/callbacks/endpoint-queue.ts'
import { faultsOfShards } from '../../workers/upkeep/queue-faults.ts'
import { workerTimes } from '../../workers/worker-times.ts'
import { startTestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

const claimsAtATime = 256

test('an endpoint that waits for the claims of others is called when the first of them ends', async () => {
  const { runtime, stop } = await startTestService()
  const ends = new Map<string, () => void>()
  let isStopping = false
  const callBack = {
    advance: async (endpointId: string) => {
      if (!isStopping) await new Promise<void>((resolve) => ends.set(endpointId, resolve))
      return 0
    },
    isCalling: () => false,
    claimIds: () => [],
    stop() {
      isStopping = true
      for (const end of ends.values()) end()
    },
  }
  const queue = startEndpointQueue(runtime, callBack, faultsOfShards(runtime.shards), workerTimes)
  onTestFinished(async () => {
    await queue.stop()
    await stop()
  })
  await queue.ready()

  const endpointIds = Array.from({ length: claimsAtATime + 1 }, () => uuidv7())
  queue.wake(endpointIds)
  expect([...ends.keys()]).toEqual(endpointIds.slice(0, claimsAtATime))
  ends.get(endpointIds[0] ?? '')?.()
  await eventually('the last one is called', async () => ends.size === endpointIds.length)
})
