import { setTimeout as sleep } from 'node:timers/promises'
import type { AttemptOutcome, Outcome } from '../../src/core/sends/outcome.ts'
import { logEvent, logFault } from '../../src/platform/log/logger.ts'
import type { Reservation } from '../../src/platform/memory/memory-budget.ts'
import { warnOfShortage } from '../../src/platform/process/own-shortage.ts'
import type { Delivery } from '../../src/providers/delivery.ts'
import type { Needs } from '../../src/runtime.ts'
import { type Moved, withinTimeLimit } from '../http/time-limit.ts'
import type { Senders } from '../providers/index.ts'
import { type Slot, unlimitedSlot } from '../queue/slots.ts'
import { createFetchLinkedMedia } from './dispatch/fetch-media.ts'
import { openMediaMemory } from './dispatch/media-memory.ts'
import { createPrepareDelivery } from './dispatch/prepare-delivery.ts'
import { PutOffs } from './dispatch/put-off.ts'
import type { EnteredSend, TimedOutcome } from './send-states.ts'
import { traceCall } from './trace-attempt.ts'

/** The send needs another permit. It keeps its due time: with a new one, it would wait behind all sends that fell due meanwhile. */
export const tooLate: AttemptOutcome = {
  outcome: 'not_called',
  reason: "it was too late for the call by its channel's rate",
  keepsDueTime: true,
}

/** By the clock of PostgreSQL at the claim. It is queued, where the next sweep fails it (workers/upkeep/expire-sends.ts). */
export const expired: AttemptOutcome = {
  outcome: 'not_called',
  reason: 'it expired before the call',
  keepsDueTime: true,
}

const noLease: AttemptOutcome = {
  outcome: 'not_called',
  reason: 'the worker had lost its lease; the provider was not called',
}

/** By a bug of ours, since a provider's code never throws. */
const callFailed: Outcome = {
  outcome: 'uncertain',
  fault: 'provider',
  reason: 'the call to the provider failed with an error; see dispatch_fault in the log of the worker',
}

const noAnswer: Outcome = {
  outcome: 'uncertain',
  fault: 'provider',
  reason: 'the provider did not answer in time',
}

/**
 * Calls the channel's provider once, within the time limit. Without a lease it makes no call, because other workers may have
 * given up this worker's claims.
 */
export function createDispatch(
  runtime: Needs<
    'db' | 'log' | 'metrics',
    | 'PROVIDER_TIMEOUT_SECONDS'
    | 'WORKER_CONCURRENCY'
    | 'API_KEY_PEPPER'
    | 'CREDENTIALS_KEY'
    | 'CREDENTIALS_KEY_PREVIOUS'
    | 'PUBLIC_BASE_URL'
    | 'DATABASE_POOL_SIZE'
  >,
  senders: Senders,
  heartbeat: { holdsLease(): boolean },
  mediaMemory = openMediaMemory(),
) {
  const { settings, log, metrics } = runtime
  const timeoutMs = settings.PROVIDER_TIMEOUT_SECONDS * 1000
  const putOffs = new PutOffs()
  const prepare = createPrepareDelivery(runtime, putOffs)
  const withMedia = createFetchLinkedMedia(runtime, senders, putOffs)
  metrics.beforeScrape.push(() => metrics.mediaMemory.set(mediaMemory.usedBytes))

  return async (send: EnteredSend, slot: Slot = unlimitedSlot): Promise<TimedOutcome> => {
    slot.pauseWork()
    return await dispatch(send).finally(slot.resumeWork)
  }

  async function dispatch(send: EnteredSend): Promise<TimedOutcome> {
    const { attempt, worker, conversationId } = send
    logEvent(log, send.requestId, 'attempt_started', { attempt, worker, conversationId })
    // The duration doesn't include the wait for the call's window.
    const startedAt = Math.max(performance.now(), send.callAt ?? 0)
    const memory = mediaMemory.reservationFor(send.accountId)
    const outcome = putOffIfShort(send, await callOnce(send, memory).finally(memory.release))
    const durationMs = Math.max(0, performance.now() - startedAt)
    const { provider } = send
    metrics.dispatches.inc({ provider, outcome: outcome.outcome })
    if (outcome.outcome !== 'not_called') metrics.dispatchDuration.observe({ provider }, durationMs / 1000)
    return { outcome, durationMs: Math.round(durationMs) }
  }

  async function callOnce(send: EnteredSend, memory: Reservation): Promise<AttemptOutcome> {
    const prepared = await prepare(send, memory)
    if ('outcome' in prepared) return prepared
    const delivery = await withMedia(send, prepared, memory)
    if ('outcome' in delivery) return delivery
    // After the fetch, which could otherwise delay the call until it comes too close to the next calls of the channel.
    const isInTime = await waitForCallTime(send)
    if (!isInTime) return tooLate
    if (performance.now() >= send.expiresAt) return expired
    if (!heartbeat.holdsLease()) return noLease
    return await callProvider(send, delivery)
  }

  /** Waits for what this machine lacked: longer each time, since every send of the worker needs it. */
  function putOffIfShort({ requestId }: EnteredSend, outcome: AttemptOutcome): AttemptOutcome {
    if (outcome.outcome !== 'not_called' || !outcome.shortage) return outcome
    warnOfShortage(log, outcome.shortage)
    return putOffs.putOff(requestId, outcome.reason)
  }

  async function callProvider(send: EnteredSend, delivery: Delivery<unknown>): Promise<AttemptOutcome> {
    const sender = senders(send.provider)
    if (!sender) throw new Error(`No provider is named ${send.provider}`)
    const call = (signal: AbortSignal, moved: Moved) => sender.send(delivery, signal, moved)
    try {
      return await traceCall(send, () => withinTimeLimit<AttemptOutcome>(timeoutMs, call, noAnswer))
    } catch (error) {
      logFault(log, 'dispatch_fault', error, { requestId: send.requestId })
      return callFailed
    }
  }
}

/** Waits for the window of the call, if the channel has a rate. @returns whether the window is still open. */
async function waitForCallTime({ callAt, tooLateAt }: EnteredSend): Promise<boolean> {
  if (callAt === undefined || tooLateAt === undefined) return true
  await sleep(Math.max(0, callAt - performance.now()))
  return performance.now() < tooLateAt
}
