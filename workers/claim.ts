import { isValueFault } from '../db/errors.ts'
import { type ClaimedSend, claimSends, dueInMs } from '../db/sends.ts'
import { MicroBatch } from '../src/platform/micro-batch.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { FollowUp } from './deliver.ts'

const maxSendsPerClaim = 200

/**
 * Commits this worker's claim on the send: from here on it counts as `sending`. A send that can't be claimed needs
 * nothing more, be it finished or another worker's; one that isn't due yet is to be woken again when it is.
 */
export function claimer({ db }: Runtime, worker: string) {
  const claims = new MicroBatch<string, ClaimedSend | undefined>({
    maxItems: maxSendsPerClaim,
    isItemsFault: isValueFault,
    flush: async (requestIds) => {
      const claimed = await claimSends(db, requestIds, worker)
      const byId = new Map(claimed.map((send) => [send.requestId, send]))
      return requestIds.map((requestId) => byId.get(requestId))
    },
  })
  return async (requestId: string): Promise<ClaimedSend | FollowUp> => {
    const send = await claims.add(requestId)
    if (!send) return { wakeInMs: await dueInMs(db, requestId) }
    return send
  }
}
