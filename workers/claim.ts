import { isValueFault } from '../db/errors.ts'
import { type ClaimedSend, claimSends, dueInMs } from '../db/sends.ts'
import { MicroBatch } from '../src/platform/micro-batch.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { NextWakeUp } from './deliver.ts'

const maxSendsPerClaim = 200

export type Claimed = { send: ClaimedSend } | { send: undefined; next: NextWakeUp }

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
  return async (requestId: string): Promise<Claimed> => {
    const send = await claims.add(requestId)
    return send ? { send } : { send, next: { wakeInMs: await dueInMs(db, requestId) } }
  }
}
