import { setTimeout as sleep } from 'node:timers/promises'
import { LRUCache } from 'lru-cache'
import { findMediaContent } from '../db/sends.ts'
import type { AttemptResult, Outcome } from '../src/core/outcome.ts'
import { ownReasons } from '../src/core/own-reasons.ts'
import { providerRules } from '../src/core/providers/index.ts'
import { openConfig } from '../src/core/sealed-config.ts'
import { logEvent, logFault } from '../src/platform/logger.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import { credentialsKeys } from '../src/platform/settings.ts'
import type { EnteredSend } from './deliver.ts'
import type { Heartbeat } from './heartbeat.ts'
import { patient } from './patience.ts'
import type { Delivery } from './provider.ts'
import type { Providers } from './providers/index.ts'
import { traceCall } from './trace.ts'

export interface Attempt {
  outcome: AttemptResult
  durationMs: number
}

const cachedConfigs = 10_000
const timeToReadMs = 50
const timeToHeedMs = 500

/**
 * Calls the channel's provider once, for `PROVIDER_TIMEOUT_SECONDS` at most. Without a lease it calls nobody: others
 * may have given this worker's claims up.
 */
export function dispatcher(runtime: Runtime, providers: Providers, heartbeat: Heartbeat) {
  const { settings, log, metrics } = runtime
  const timeoutMs = settings.PROVIDER_TIMEOUT_SECONDS * 1000
  const prepare = deliveryPreparer(runtime)

  return async (send: EnteredSend): Promise<Attempt> => {
    const { attempt: number, worker, conversationId } = send
    logEvent(log, send.requestId, 'attempt_started', { attempt: number, worker, conversationId })
    // Without the wait for the moment of its call.
    const startedAt = Math.max(performance.now(), send.callAt ?? 0)
    const outcome = await attempt(send)
    const durationMs = Math.max(0, performance.now() - startedAt)
    const { provider } = send
    metrics.dispatches.inc({ provider, outcome: outcome.outcome })
    if (outcome.outcome !== 'not_called') metrics.dispatchDuration.observe({ provider }, durationMs / 1000)
    return { outcome, durationMs: Math.round(durationMs) }
  }

  async function attempt(send: EnteredSend): Promise<AttemptResult> {
    const { requestId } = send
    let delivery: Delivery<unknown> | undefined
    try {
      delivery = await prepare(send)
    } catch (error) {
      logFault(log, 'dispatch_fault', error, { requestId })
      return { outcome: 'retry_later', reason: 'the call to the provider could not be prepared; see the log' }
    }
    if (!delivery) return { outcome: 'rejected', reason: ownReasons.mediaGone }
    const isInTime = await waitForTurn(send)
    if (!isInTime) {
      return { outcome: 'not_called', reason: "the moment for it had passed, by its channel's rate" }
    }
    if (!heartbeat.holdsLease()) {
      return {
        outcome: 'not_called',
        reason: 'the worker had lost its lease; the provider was not called',
      }
    }
    try {
      const call = (signal: AbortSignal) => providers[send.provider].send(delivery, signal)
      return await traceCall(send, () => withinTime(timeoutMs, call))
    } catch (error) {
      logFault(log, 'dispatch_fault', error, { requestId })
      return { outcome: 'uncertain', reason: 'the call to the provider broke off; see the log' }
    }
  }
}

/** Where the channel has a rate: waits for the moment of the call. @returns whether it isn't over. */
async function waitForTurn({ callAt, tooLateAt }: EnteredSend): Promise<boolean> {
  if (callAt === undefined || tooLateAt === undefined) return true
  await sleep(Math.max(0, callAt - performance.now()))
  return performance.now() < tooLateAt
}

/** Aborts the call when its time is over; if it doesn't heed that, it is left behind: it must not hold its slot. */
async function withinTime(
  timeoutMs: number,
  call: (signal: AbortSignal) => Promise<Outcome>,
): Promise<Outcome> {
  const abort = new AbortController()
  let timer: NodeJS.Timeout | undefined
  const after = (ms: number, then: () => void) => {
    timer = setTimeout(then, ms)
  }
  const leftBehind = new Promise<Outcome>((resolve) => {
    const giveUp = () => resolve({ outcome: 'uncertain', reason: 'the provider did not answer in time' })
    const end = () => {
      abort.abort()
      after(timeToHeedMs, giveUp)
    }
    // A process that was frozen finds its time over and the answers come: these are read first.
    after(timeoutMs, () => after(timeToReadMs, end))
  })
  try {
    return await Promise.race([call(abort.signal), leftBehind])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * Gathers what the claim doesn't hold: the channel's config, opened, and the bytes of media. Undefined where the media
 * is no longer there.
 */
function deliveryPreparer({ db, settings, log }: Runtime) {
  const findContent = patient(log, (requestId: string) => findMediaContent(db, requestId))
  const keys = credentialsKeys(settings)
  const configs = new LRUCache<string, object>({ max: cachedConfigs })
  const configOf = ({ provider, sealedConfig, channelId }: EnteredSend): object => {
    const known = configs.get(sealedConfig)
    if (known) return known
    const opened = openConfig(sealedConfig, channelId, keys)
    const config = providerRules[provider].config.parse(opened)
    configs.set(sealedConfig, config)
    return config
  }
  return async (send: EnteredSend): Promise<Delivery<unknown> | undefined> => {
    const { message } = send
    const config = configOf(send)
    if (message.type !== 'media' || message.media.sizeBytes === undefined) {
      return { ...send, config, mediaContent: undefined }
    }
    const mediaContent = await findContent(send.requestId)
    return mediaContent && { ...send, config, mediaContent }
  }
}
