import type { ClaimedEndpoint } from '../db/callbacks/endpoint-claims.ts'
import { isDelivered } from '../src/core/callback-outcome.ts'
import type { Runtime } from '../src/runtime.ts'
import { endpointCaller } from './callbacks/call-endpoint.ts'
import type { CallSlots, EndpointKind, Slot } from './callbacks/call-slots.ts'
import { CallsOfClaim } from './callbacks/calls-of-claim.ts'
import { endpointClaimer } from './callbacks/claim-endpoint.ts'
import { healthNoter } from './callbacks/note-health.ts'
import { tryRecorder } from './callbacks/record-try.ts'
import type { SendsFirst } from './callbacks/sends-first.ts'
import type { HttpClient } from './providers/http.ts'
import type { Heartbeat } from './upkeep/heartbeat.ts'
import { type WorkerTimes, workerTimes } from './worker-times.ts'

/**
 * What became of an endpoint that was to be advanced. `done`: it was called. `under_way`: this worker is calling it already. `refused`:
 * it may not be called, or another worker calls it. `no_slot_…`: it has callbacks due, and this worker has no slot for an endpoint of its kind.
 */
export type Advanced = 'done' | 'under_way' | 'refused' | `no_slot_${EndpointKind}`

/** What the wake-ups of endpoints need of the rest of the worker. */
export interface CallBack {
  /**
   * Advances an endpoint. Resolves when all that it began is recorded.
   *
   * @param slot for its first call. It may be freed before the end; the caller frees it in any case, as perhaps no call was made.
   */
  advance(endpointId: string, slot?: Slot): Promise<Advanced>
  /** If this worker is calling an endpoint, its new callbacks are called, too. @returns whether it is. */
  wakeIfCalled(endpointId: string): boolean
  /** Whether this worker is calling it, or about to. */
  isCalled(endpointId: string): boolean
  /** The claims of this worker. */
  claimIds(): string[]
  /** Begins no further call. */
  stop(): void
}

/**
 * Calls an endpoint with the callbacks that are due. The order is a promise (docs/reference/callbacks.md): the claim is committed before the first
 * call, so that nobody else calls the endpoint meanwhile, and a send's next callback is read only when the one before it is
 * recorded.
 */
export function callBacker(
  runtime: Runtime,
  http: HttpClient,
  heartbeat: Pick<Heartbeat, 'worker' | 'holdsLease'>,
  slots: CallSlots,
  times: Pick<WorkerTimes, 'endpointClaimMs' | 'lookAgainMs' | 'failingForMs'> = workerTimes,
  sendsFirst?: SendsFirst,
): CallBack {
  const { claim, release } = endpointClaimer(runtime, heartbeat.worker, sendsFirst)
  const callEndpoint = endpointCaller(runtime, http)
  const recordTry = tryRecorder(runtime)
  const noteHealth = healthNoter(runtime, times)
  /** By endpoint: with Redis' data lost, two wake-ups of an endpoint may come at once. */
  const claims = new Map<string, CallsOfClaim>()
  let isStopping = false

  const callOut = async (endpointId: string, calls: CallsOfClaim): Promise<Advanced> => {
    const { claimId } = calls
    let result: Advanced = 'refused'
    let endsAt = Number.POSITIVE_INFINITY
    const isOver = () => performance.now() >= endsAt
    const mayGoOn = () => !isStopping && !calls.hasEnded && heartbeat.holdsLease()
    const mayCall = () => calls.mayBegin().then(mayGoOn)
    // What can't be called yet isn't read: else a hanging call would cost five reads a second.
    while (await mayCall()) {
      if (isOver()) {
        if (await calls.areRecordedWithin(times.lookAgainMs)) break
        // A slow call keeps the endpoint from other workers anyway: without this, all its other sends would wait for it.
        endsAt = Number.POSITIVE_INFINITY
        continue
      }
      const limit = calls.nextLimit()
      const claimed = await claim({ endpointId, claimId, except: calls.requestIds(), limit })
      if (!claimed) break
      result = 'done'
      // From now on: the claim itself may have waited for long.
      endsAt = Math.min(endsAt, performance.now() + times.endpointClaimMs)
      calls.noteRead(claimed)
      for (const callback of claimed.callbacks) {
        if (!(await mayCall()) || isOver()) break
        // A 2xx under this claim is newer than what was read before it.
        const kind = calls.isCareful ? kindOf(claimed) : 'answering'
        const slot = await slots.acquire(kind, calls.takeSlot())
        if (!slot) {
          calls.hasEnded = true
          result = `no_slot_${kind}`
          break
        }
        // While it waited for a slot, another worker may have taken the endpoint.
        if (!mayGoOn()) {
          slot.free()
          break
        }
        calls.begin(callback.requestId, async () => {
          const answer = await callEndpoint(claimed, callback).finally(slot.free)
          calls.noteAnswer(claimed, isDelivered(answer))
          return async () => recordTry(callback, answer, await noteHealth(claimed, callback, answer))
        })
      }
      // If one call takes long, others may have become due meanwhile.
      if (claimed.callbacks.length < limit && (await calls.isIdleWithin(times.lookAgainMs))) break
    }
    await calls.allRecorded()
    return result
  }

  const wakeIfCalled = (endpointId: string): boolean => {
    claims.get(endpointId)?.wake()
    return claims.has(endpointId)
  }

  return {
    async advance(endpointId, slot) {
      if (isStopping) return 'done'
      if (wakeIfCalled(endpointId)) return 'under_way'
      const calls = new CallsOfClaim(slot)
      claims.set(endpointId, calls)
      try {
        return await callOut(endpointId, calls)
      } finally {
        await release({ endpointId, claimId: calls.claimId }).finally(() => claims.delete(endpointId))
      }
    },
    wakeIfCalled,
    isCalled: (endpointId) => claims.has(endpointId),
    claimIds: () => [...claims.values()].map(({ claimId }) => claimId),
    stop() {
      isStopping = true
    },
  }
}

function kindOf({ isAnswering, isFailing }: ClaimedEndpoint): EndpointKind {
  if (isAnswering) return 'answering'
  return isFailing ? 'failing' : 'silent'
}
