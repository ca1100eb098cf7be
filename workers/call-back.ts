import type { ClaimedEndpoint, DueCallback } from '../db/callbacks/endpoint-claims.ts'
import { isDelivered } from '../src/core/callbacks/callback-outcome.ts'
import { newId } from '../src/core/requests/new-id.ts'
import { Semaphore } from '../src/platform/memory/semaphore.ts'
import type { Runtime } from '../src/runtime.ts'
import { createCallEndpoint } from './callbacks/call-endpoint.ts'
import { createEndpointClaims } from './callbacks/claim-endpoint.ts'
import { DueCallbacks } from './callbacks/due-callbacks.ts'
import { createNoteHealth } from './callbacks/note-health.ts'
import { createRecordTry } from './callbacks/record-try.ts'
import type { SendsFirst } from './callbacks/sends-first.ts'
import type { HttpClient } from './http/http.ts'
import type { EndpointAdvancer } from './queue/endpoint-queues.ts'
import type { Heartbeat } from './upkeep/heartbeat.ts'
import type { WorkerTimes } from './worker-times.ts'

/** Calls at a time of an endpoint that isn't in slow start. */
export const callsAtATime = 4

/** The parts of a worker that callbacks use. */
interface CallBackParts {
  http: HttpClient
  heartbeat: Pick<Heartbeat, 'worker' | 'holdsLease'>
  sendsFirst: SendsFirst
  times: Pick<WorkerTimes, 'endpointClaimMs' | 'lookAgainMs' | 'failingForMs'>
}

/**
 * Calls endpoints with the callbacks that are due. The order is a promise (docs/reference/callbacks.md): the claim is committed before the first call,
 * so that no other worker calls the endpoint meanwhile, and a send's next callback is read only when the one before it is recorded.
 */
export function createCallBack(
  runtime: Runtime,
  { http, heartbeat, sendsFirst, times }: CallBackParts,
): EndpointAdvancer {
  const { claim, release } = createEndpointClaims(runtime, heartbeat.worker, sendsFirst)
  const callEndpoint = createCallEndpoint(runtime, http)
  const noteHealth = createNoteHealth(runtime, times)
  const recordTry = createRecordTry(runtime)
  const slots = new Semaphore({ units: runtime.settings.CALLBACK_CONCURRENCY, unitsOfOwner: callsAtATime })
  const claimIds = new Set<string>()
  let isStopping = false
  const mayCall = () => !isStopping && heartbeat.holdsLease()

  const callAndRecord = (claimed: ClaimedEndpoint, callback: DueCallback) => {
    const answered = callEndpoint(claimed, callback)
    return {
      isDelivered: answered.then(isDelivered),
      // The next call needn't wait for this.
      recorded: answered.then(async (answer) => {
        await recordTry(callback, answer, await noteHealth(claimed, callback, answer))
      }),
    }
  }

  return {
    async advance(endpointId, isInSlowStart) {
      const claimId = newId()
      claimIds.add(claimId)
      const due = new DueCallbacks({
        read: (request) => claim({ ...request, endpointId, claimId }),
        isInSlowStart,
        mayCall,
        times,
      })
      const callNext = async () => {
        const slot = slots.acquire({ units: 1, owner: endpointId }, times.endpointClaimMs)
        const free = await slot.catch(() => undefined)
        // Another worker may have a free slot.
        if (!free) due.end()
        else await due.callNext(callAndRecord).finally(free)
      }
      const callAll = async () => {
        while (await due.hasNext()) await callNext()
      }
      try {
        const calls = isInSlowStart ? [callNext()] : Array.from({ length: callsAtATime }, callAll)
        // Also after an error: the endpoint isn't left to others while it is being called.
        await Promise.all(calls).finally(() => due.allRecorded())
      } finally {
        await release({ endpointId, claimId }).finally(() => claimIds.delete(claimId))
      }
    },
    claimIds: () => [...claimIds],
    callsInFlight: () => slots.takenUnits,
    stop() {
      isStopping = true
    },
  }
}
