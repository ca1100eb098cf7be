import type { ClaimedEndpoint } from '../db/callbacks/endpoint-claims.ts'
import { isDelivered } from '../src/core/callback-outcome.ts'
import { newId } from '../src/core/new-id.ts'
import type { Runtime } from '../src/runtime.ts'
import { endpointCaller } from './callbacks/call-endpoint.ts'
import { CallSlots, type EndpointKind } from './callbacks/call-slots.ts'
import { CallsOfClaim } from './callbacks/calls-of-claim.ts'
import { endpointClaimer } from './callbacks/claim-endpoint.ts'
import { healthNoter } from './callbacks/note-health.ts'
import { tryRecorder } from './callbacks/record-try.ts'
import type { SendsFirst } from './callbacks/sends-first.ts'
import type { HttpClient } from './providers/http.ts'
import type { Heartbeat } from './upkeep/heartbeat.ts'
import { type WorkerTimes, workerTimes } from './worker-times.ts'

/** What the wake-ups of endpoints need of the rest of the worker. */
export interface CallBack {
  /**
   * Advances an endpoint. Resolves when all that it began is recorded.
   *
   * @returns for how many ms the endpoint is left to other workers.
   */
  advance(endpointId: string): Promise<number>
  /** Whether this worker calls an endpoint. */
  isCalling(endpointId: string): boolean
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
  times: Pick<WorkerTimes, 'endpointClaimMs' | 'lookAgainMs' | 'putOffMs' | 'failingForMs'> = workerTimes,
  sendsFirst?: SendsFirst,
): CallBack {
  const { claim, release } = endpointClaimer(runtime, heartbeat.worker, sendsFirst)
  const slots = new CallSlots(runtime.settings.CALLBACK_CONCURRENCY, times.endpointClaimMs)
  const callEndpoint = endpointCaller(runtime, http)
  const recordTry = tryRecorder(runtime)
  const noteHealth = healthNoter(runtime, times)
  /** By endpoint: with Redis' data lost, two wake-ups of an endpoint may come at once. */
  const claims = new Map<string, string>()
  let isStopping = false
  runtime.metrics.beforeScrape.push(() => runtime.metrics.callbacksInFlight.set(slots.inUse))

  const callOut = async (endpointId: string, claimId: string): Promise<number> => {
    const calls = new CallsOfClaim()
    // If it is refused for now, not at once again.
    let leftForMs = times.putOffMs
    let endsAt = Number.POSITIVE_INFINITY
    const isOver = () => performance.now() >= endsAt
    const mayGoOn = () => !isStopping && !calls.hasEnded && heartbeat.holdsLease()
    while (mayGoOn()) {
      if (isOver()) {
        if (await calls.areRecordedWithin(times.lookAgainMs)) break
        // A slow call keeps the endpoint from other workers anyway: without this, all its other sends would wait for it.
        endsAt = Number.POSITIVE_INFINITY
        continue
      }
      const limit = calls.nextLimit()
      const claimed = await claim({ endpointId, claimId, except: calls.requestIds(), limit })
      if (!claimed) break
      leftForMs = 0
      // From now on: the claim itself may have waited for long.
      endsAt = Math.min(endsAt, performance.now() + times.endpointClaimMs)
      calls.isCareful = !claimed.isAnswering
      for (const callback of claimed.callbacks) {
        await calls.mayBegin()
        if (!mayGoOn() || isOver()) break
        const freeSlot = await slots.acquire(kindOf(claimed))
        if (!freeSlot) {
          leftForMs = times.putOffMs
          calls.hasEnded = true
          break
        }
        // While it waited for a slot, another worker may have taken the endpoint.
        if (!mayGoOn()) {
          freeSlot()
          break
        }
        calls.begin(callback.requestId, async () => {
          const answer = await callEndpoint(claimed, callback).finally(freeSlot)
          calls.note(isDelivered(answer))
          return async () => recordTry(callback, answer, await noteHealth(claimed, callback, answer))
        })
      }
      // If one call takes long, others may have become due meanwhile.
      if (claimed.callbacks.length < limit && (await calls.areRecordedWithin(times.lookAgainMs))) break
    }
    await calls.allRecorded()
    return leftForMs
  }

  return {
    async advance(endpointId) {
      if (claims.has(endpointId) || isStopping) return 0
      const claimId = newId()
      claims.set(endpointId, claimId)
      try {
        return await callOut(endpointId, claimId)
      } finally {
        await release({ endpointId, claimId })
        claims.delete(endpointId)
      }
    },
    isCalling: (endpointId) => claims.has(endpointId),
    claimIds: () => [...claims.values()],
    stop() {
      isStopping = true
    },
  }
}

function kindOf({ isAnswering, isFailing }: ClaimedEndpoint): EndpointKind {
  if (isAnswering) return 'answering'
  return isFailing ? 'failing' : 'silent'
}
