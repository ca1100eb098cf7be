import { v7 as uuidv7 } from 'uuid'
import { type Claim, type ClaimedSend, claimSends, reclaimSends } from '../../db/delivery/claims.ts'
import { findRefusals, type Refusal } from '../../db/delivery/due-sends.ts'
import { isRowFault } from '../../db/errors.ts'
import { logEvent } from '../../src/platform/logger.ts'
import { MicroBatch } from '../../src/platform/micro-batch.ts'
import type { Needs } from '../../src/runtime.ts'
import { retryUntilAvailable } from '../retry-until-available.ts'
import type { NextWakeUp, OwnSend } from './attempt.ts'
import type { Permits } from './permits.ts'

const maxSendsPerClaim = 200

/** A send that is due and yet wasn't claimed was locked at that moment. */
const shortestWaitMs = 100

interface ClaimBatch {
  requestIds: readonly string[]
  claim: Claim
  tries: number
}

type Claimed = { send: OwnSend } | { send: undefined; next: NextWakeUp }

/** Neither of the two for a send that isn't there. */
type Tried = { send?: OwnSend; refusal?: Refusal }

/**
 * Commits this worker's claim on the send: from here on it counts as `sending`. A send that can't be claimed needs
 * nothing more, be it finished or another worker's, behind in its lane or without its permit: whoever makes way for it
 * wakes it. One that isn't due yet is to be woken again when it is.
 */
export function claimer(
  { db, log, metrics }: Needs<'db' | 'log' | 'metrics'>,
  worker: string,
  permits: Pick<Permits, 'ask'>,
) {
  const claimWithRetry = retryUntilAvailable(log, (batch: ClaimBatch) => {
    const claim = batch.tries++ === 0 ? claimSends : reclaimSends
    return claim(db, batch.requestIds, batch.claim)
  })
  const refusals = retryUntilAvailable(log, (requestIds: readonly string[]) => findRefusals(db, requestIds))
  const claims = new MicroBatch<string, Tried>({
    maxItems: maxSendsPerClaim,
    isItemsFault: isRowFault,
    flush: async (requestIds) => {
      metrics.claimBatch.observe(requestIds.length)
      const askedAt = performance.now()
      const sends = await claimWithRetry({ requestIds, claim: { id: uuidv7(), worker }, tries: 0 })
      const tried = new Map<string, Tried>(
        sends.map((send) => [send.requestId, { send: atItsMoment(send, askedAt) }]),
      )
      const refused = requestIds.filter((requestId) => !tried.has(requestId))
      for (const refusal of refused.length > 0 ? await refusals(refused) : []) {
        tried.set(refusal.requestId, { refusal })
      }
      // Once each, however often it was woken: whoever is given the claim calls the provider.
      return requestIds.map((requestId) => {
        const one = tried.get(requestId) ?? {}
        tried.delete(requestId)
        return one
      })
    },
  })

  const claim = async (requestId: string): Promise<Claimed> => {
    const { send, refusal } = await claims.add(requestId)
    if (send) return { send }
    if (!refusal?.waitsForPermitOf) return { send, next: refusal ? afterRefusal(refusal) : {} }
    const wakeInMs = await permits.ask(refusal.waitsForPermitOf, requestId)
    if (wakeInMs === 0) return await claim(requestId)
    return { send, next: { wakeInMs, looksAgain: wakeInMs === undefined } }
  }
  return async (requestId: string): Promise<Claimed> => {
    const claimed = await claim(requestId)
    if (claimed.send && isFirstSinceReplay(claimed.send)) logEvent(log, requestId, 'replayed', {})
    return claimed
  }
}

/** PostgreSQL told its times somewhere between asking and now: rather call a little later, and be too late earlier. */
function atItsMoment(send: ClaimedSend, askedAt: number): OwnSend {
  if (send.callInMs === null || send.tooLateInMs === null) return send
  return { ...send, callAt: performance.now() + send.callInMs, tooLateAt: askedAt + send.tooLateInMs }
}

function afterRefusal({ dueInMs, leavesLane }: Refusal): NextWakeUp {
  return {
    wakeInMs: dueInMs === null ? undefined : Math.max(dueInMs, shortestWaitMs),
    looksAgain: leavesLane,
  }
}

/** Whoever replays a send, say on the command line, writes no log of the service. */
function isFirstSinceReplay({ attempt, attemptsBeforeReplay }: ClaimedSend): boolean {
  return attemptsBeforeReplay > 0 && attempt === attemptsBeforeReplay + 1
}
