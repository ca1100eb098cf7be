import { v7 as uuidv7 } from 'uuid'
import { isRowFault } from '../../db/connection/errors.ts'
import { type Claim, type ClaimedSend, claimSends, reclaimSends } from '../../db/delivery/claims.ts'
import { findRefusals, type Refusal } from '../../db/delivery/refusals.ts'
import { suppressionKey as keyFrom } from '../../src/core/suppression/suppression.ts'
import { logEvent } from '../../src/platform/log/logger.ts'
import { MicroBatch, type MicroBatchOptions } from '../../src/platform/micro-batch.ts'
import { retryUntilAvailable } from '../../src/platform/retry-until-available.ts'
import type { Needs } from '../../src/runtime.ts'
import type { FallbackSettings } from '../../src/sends/fall-back.ts'
import type { NextWakeUp } from '../queue/queue-worker.ts'
import { type QueueKind, type Slot, unlimitedSlot } from '../queue/slots.ts'
import type { Permits } from './claim/permits.ts'
import { createPostpone } from './claim/postpone.ts'
import { createFailSuppressed } from './claim/suppressed.ts'
import { createTurns } from './claim/turns.ts'
import type { OwnSend } from './send-states.ts'

const maxSendsPerClaim = 200

/** For a send that is due but wasn't claimed, because its row was locked at that moment. */
const shortestWaitMs = 100

interface ClaimBatch {
  requestIds: readonly string[]
  claim: Claim
  tries: number
}

type Claimed = { send: OwnSend } | { next: NextWakeUp }

/** The result of one claim. Both are missing if the send doesn't exist. */
type ClaimResult = { send?: OwnSend; refusal?: Refusal }

/**
 * Commits this worker's claim on the send, which is `sending` from then on. If the send is finished, claimed by another worker,
 * behind another one in its lane or without a permit, there is nothing more to do: it gets a wake-up when that changes. If it
 * isn't due yet, its wake-up is delayed until then. If its contact is suppressed, it fails. If a more urgent send of its channel may
 * go, that one is claimed in its place.
 */
export function createClaim(
  runtime: Needs<'db' | 'log' | 'metrics', FallbackSettings>,
  worker: string,
  permits: Pick<Permits, 'request'>,
) {
  const { db, log, metrics } = runtime
  const suppressionKey = keyFrom(runtime.settings.API_KEY_PEPPER)
  const failSuppressed = createFailSuppressed(runtime)
  const postpone = createPostpone(runtime)
  const claimWithRetry = retryUntilAvailable(log, (batch: ClaimBatch) => {
    const claim = batch.tries++ === 0 ? claimSends : reclaimSends
    return claim(db, batch.requestIds, batch.claim)
  })
  const findWithRetry = retryUntilAvailable(log, (requestIds: readonly string[]) =>
    findRefusals(db, requestIds, suppressionKey),
  )
  const refusals = async (requestIds: readonly string[]): Promise<Refusal[]> =>
    await postpone(await failSuppressed(await findWithRetry(requestIds)))
  const inBatches = (inAnyOrder: boolean): MicroBatchOptions<string, ClaimResult> => ({
    maxItems: maxSendsPerClaim,
    isItemsFault: isRowFault,
    flush: async (requestIds) => {
      metrics.claimBatch.observe(requestIds.length)
      const startedAt = performance.now()
      const sends = await claimWithRetry({
        requestIds,
        claim: { id: uuidv7(), worker, suppressionKey, inAnyOrder },
        tries: 0,
      })
      const results = new Map<string, ClaimResult>(
        sends.map((send) => [send.requestId, { send: withTimes(send, startedAt) }]),
      )
      const refused = requestIds.filter((requestId) => !results.has(requestId))
      for (const refusal of refused.length > 0 ? await refusals(refused) : []) {
        results.set(refusal.requestId, { refusal })
      }
      // A batch may contain a send twice. Only one of its wake-ups may get the claim, since that one calls the provider.
      return requestIds.map((requestId) => {
        const result = results.get(requestId) ?? {}
        results.delete(requestId)
        return result
      })
    },
  })
  /** A send of the ordinary queue doesn't wait for the claim of a backlog. */
  const claims = { ordinary: new MicroBatch(inBatches(false)), overflow: new MicroBatch(inBatches(false)) }
  const claimsInAnyOrder = new MicroBatch(inBatches(true))
  const turns = createTurns()

  /** Claims the more urgent send in the place of this one, unless so many went before it that it would wait for ever. */
  const claimFirst = async (first: string, { requestId, channelId }: Refusal, queue: QueueKind) => {
    const isItsTurn = turns.takeLessUrgent(channelId)
    const { send } = isItsTurn ? await claimsInAnyOrder.add(requestId) : await claims[queue].add(first)
    if (!send) return { next: { wakeInMs: shortestWaitMs } }
    if (!isItsTurn && send.priority !== 'urgent') turns.wentFirst(channelId)
    return { send }
  }

  const claim = async (requestId: string, queue: QueueKind): Promise<Claimed> => {
    const { send, refusal } = await claims[queue].add(requestId)
    if (send) return { send }
    if (!refusal) return { next: {} }
    if (refusal.goesFirst) return await claimFirst(refusal.goesFirst, refusal, queue)
    if (!refusal.waitsForPermitOf) {
      // What is more urgent may not go, or has gone with this batch.
      const isFree = refusal.dueInMs === 0
      const { send: late } = isFree ? await claimsInAnyOrder.add(requestId) : {}
      return late ? { send: late } : { next: afterRefusal(refusal) }
    }
    const wakeInMs = await permits.request(refusal.waitsForPermitOf, requestId)
    if (wakeInMs === 0) return await claim(requestId, queue)
    return { next: { wakeInMs, wakesLaneHead: wakeInMs === undefined } }
  }
  return async (requestId: string, slot: Slot = unlimitedSlot): Promise<Claimed> => {
    const claimed = await claim(requestId, slot.queue)
    if ('next' in claimed) return claimed
    slot.claimedFor(claimed.send.accountId)
    if (claimed.send.priority === 'urgent') turns.wentFirst(claimed.send.channelId)
    if (isFirstSinceReplay(claimed.send)) logEvent(log, claimed.send.requestId, 'replayed', {})
    return claimed
  }
}

/** PostgreSQL read its clock between `startedAt` and now, so this takes the earliest expiry, and the narrowest window for the call. */
function withTimes(send: ClaimedSend, startedAt: number): OwnSend {
  const own: OwnSend = Object.assign(send, {
    expiresAt: startedAt + (send.expiresInMs ?? Number.POSITIVE_INFINITY),
  })
  if (send.callInMs === null || send.tooLateInMs === null) return own
  return { ...own, callAt: performance.now() + send.callInMs, tooLateAt: startedAt + send.tooLateInMs }
}

function afterRefusal({ dueInMs, wakesLaneHead }: Refusal): NextWakeUp {
  return {
    wakeInMs: dueInMs === null ? undefined : Math.max(dueInMs, shortestWaitMs),
    wakesLaneHead,
  }
}

/** The worker logs `replayed`, because the CLI, which replays sends, doesn't write to the service's log. */
function isFirstSinceReplay({ attempt, attemptsBeforeReplay, fellBack }: ClaimedSend): boolean {
  // A fallback begins a new series of attempts as a replay does.
  return attemptsBeforeReplay > 0 && attempt === attemptsBeforeReplay + 1 && !fellBack
}
