import { v7 as uuidv7 } from 'uuid'
import { type Claim, type ClaimedSend, claimSends, reclaimSends } from '../db/claims.ts'
import { dueInMs } from '../db/due-sends.ts'
import { isRowFault } from '../db/errors.ts'
import { logEvent } from '../src/platform/logger.ts'
import { MicroBatch } from '../src/platform/micro-batch.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { NextWakeUp } from './deliver.ts'
import { patient } from './patience.ts'

const maxSendsPerClaim = 200

/** A send that is due and yet wasn't claimed was locked at that moment. */
const shortestWaitMs = 100

interface ClaimBatch {
  requestIds: readonly string[]
  claim: Claim
  tries: number
}

type Claimed = { send: ClaimedSend } | { send: undefined; next: NextWakeUp }

/**
 * Commits this worker's claim on the send: from here on it counts as `sending`. A send that can't be claimed needs
 * nothing more, be it finished or another worker's; one that isn't due yet is to be woken again when it is.
 */
export function claimer({ db, log }: Runtime, worker: string) {
  const claimPatiently = patient(log, (batch: ClaimBatch) => {
    const claim = batch.tries++ === 0 ? claimSends : reclaimSends
    return claim(db, batch.requestIds, batch.claim)
  })
  const claims = new MicroBatch<string, ClaimedSend | undefined>({
    maxItems: maxSendsPerClaim,
    isItemsFault: isRowFault,
    flush: async (requestIds) => {
      const claimed = await claimPatiently({ requestIds, claim: { id: uuidv7(), worker }, tries: 0 })
      const byId = new Map(claimed.map((send) => [send.requestId, send]))
      // Once each, however often it was woken: whoever is given the claim calls the provider.
      return requestIds.map((requestId) => {
        const send = byId.get(requestId)
        byId.delete(requestId)
        return send
      })
    },
  })
  return async (requestId: string): Promise<Claimed> => {
    const send = await claims.add(requestId)
    if (send && isFirstSinceReplay(send)) logEvent(log, requestId, 'replayed')
    return send ? { send } : { send, next: { wakeInMs: await wakeInMs(requestId) } }
  }

  async function wakeInMs(requestId: string): Promise<number | undefined> {
    const ms = await patient(log, (id: string) => dueInMs(db, id))(requestId)
    return ms === undefined ? undefined : Math.max(ms, shortestWaitMs)
  }
}

/** Whoever replays a send, say on the command line, writes no log of the service. */
function isFirstSinceReplay({ attempt, attemptsBeforeReplay }: ClaimedSend): boolean {
  return attemptsBeforeReplay > 0 && attempt === attemptsBeforeReplay + 1
}
