import {
  type ClaimedEndpoint,
  type ClaimRequest,
  claimEndpoints,
  releaseEndpoints,
} from '../../db/callbacks/endpoint-claims.ts'
import { isRowFault } from '../../db/connection/errors.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../src/platform/retry-until-available.ts'
import type { Needs } from '../../src/runtime.ts'
import type { SendsFirst } from './sends-first.ts'

const maxClaimsPerFlush = 100

type EndedClaim = Pick<ClaimRequest, 'endpointId' | 'claimId'>

/** Claims and releases endpoints, many of them in one statement. */
export function createEndpointClaims(
  { db, log }: Needs<'db' | 'log'>,
  worker: string,
  sendsFirst: SendsFirst,
) {
  const takes = new MicroBatch<ClaimRequest, ClaimedEndpoint | undefined>({
    maxItems: maxClaimsPerFlush,
    gatherMs: () => sendsFirst.gatherMs(),
    isItemsFault: isRowFault,
    flush: retryUntilAvailable(log, async (requests) => {
      const claimed = await claimEndpoints(db, requests, worker)
      sendsFirst.noteClaimed(claimed.reduce((count, { callbacks }) => count + callbacks.length, 0))
      const claims = new Map(claimed.map((one) => [one.endpointId, one]))
      return requests.map(({ endpointId }) => claims.get(endpointId))
    }),
  })
  const ends = new MicroBatch<EndedClaim, void>({
    maxItems: maxClaimsPerFlush,
    flush: retryUntilAvailable(log, async (claims) => {
      await releaseEndpoints(db, claims)
      return claims.map(() => undefined)
    }),
  })
  return {
    /** @returns undefined if the endpoint may not be called, or another worker calls it. */
    claim: (request: ClaimRequest) => takes.add(request),
    release: (claimed: EndedClaim) => ends.add(claimed),
  }
}
