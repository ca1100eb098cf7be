import type { Transaction } from '../../db/connection/client.ts'
import {
  type Ended,
  type FallBack,
  type FallbackCandidate,
  type FallbackResult,
  type FallbackRow,
  findFallbacks,
  moveToFallbacks,
  noteFallbackUnused,
  type UnusedFallback,
} from '../../db/delivery/fall-back.ts'
import {
  decideFallback,
  type FallbackDecision,
  hasUnusedFallback,
  reasonWithUnusedFallback,
} from '../core/sends/fallback.ts'
import type { WakeUp } from '../core/sends/send-job.ts'
import { suppressionKey as keyFrom } from '../core/suppression/suppression.ts'
import { logEvent, logFault } from '../platform/log/logger.ts'
import type { Needs } from '../runtime.ts'
import { channelRules } from './channel-rules.ts'
import { noteEnd, type SendEnd } from './send-end.ts'

export type FallbackSettings =
  | 'CREDENTIALS_KEY'
  | 'CREDENTIALS_KEY_PREVIOUS'
  | 'PUBLIC_BASE_URL'
  | 'API_KEY_PEPPER'

interface Decided {
  ended: Ended
  candidate: FallbackCandidate & { target: NonNullable<FallbackCandidate['target']> }
  decision: FallbackDecision
}

/**
 * Moves sends that have just ended to their fallback channels, or records why the fallback was not used. Call it only for sends
 * of channels that have a fallback, in the transaction that ended them, and `noteFallback` for each result after that.
 */
export function createFallback(runtime: Needs<'log', FallbackSettings>): FallBack {
  const { settings } = runtime
  const rulesOf = channelRules(runtime)
  const suppressionKey = keyFrom(settings.API_KEY_PEPPER)
  const hasPublicUrl = settings.PUBLIC_BASE_URL !== undefined

  const decide = (ended: Ended, candidate: FallbackCandidate): Decided | undefined => {
    const { send, rule, target } = candidate
    if (!target || hasUnusedFallback(send.timeline)) return undefined
    // The config of a deleted channel is gone.
    const { isDeleted, sealedConfig } = target
    const ofTarget = {
      ...target,
      rules: rulesOf({ ...target, sealedConfig: isDeleted ? null : sealedConfig }),
    }
    const decision = decideSafely(() => decideFallback({ ...send, hasPublicUrl }, rule, ofTarget), ended)
    return { ended, candidate: { ...candidate, target }, decision }
  }

  /** A fault of one must not keep the ends of others from being recorded. */
  const decideSafely = (decideOne: () => FallbackDecision, { requestId }: Ended): FallbackDecision => {
    try {
      return decideOne()
    } catch (error) {
      logFault(runtime.log, 'fallback_fault', error, { requestId })
      return { result: 'not_carried', why: 'it could not be decided; see fallback_fault in the log' }
    }
  }

  return async (transaction, ended) => {
    if (ended.length === 0) return []
    const ids = ended.map(({ requestId }) => requestId)
    const found = await findFallbacks(transaction, ids, suppressionKey)
    const candidates = new Map(found.map((candidate) => [candidate.send.timeline.requestId, candidate]))
    const decided: Decided[] = []
    const results: FallbackResult[] = []
    for (const one of ended) {
      const candidate = candidates.get(one.requestId)
      if (!candidate) continue
      if (candidate.present.channelId === one.channelId) {
        const decision = decide(one, candidate)
        if (decision) decided.push(decision)
      } else if (candidate.send.formerChannels.includes(one.channelId))
        results.push(fellBefore(one, candidate))
    }
    return [...results, ...(await record(transaction, decided))]
  }
}

/** What the lost answer of an earlier try said. */
function fellBefore(
  { requestId, channelId, provider }: Ended,
  { present }: FallbackCandidate,
): FallbackResult {
  const { channelId: toChannelId, provider: to, wakeUp } = present
  return {
    result: 'fell_back',
    requestId,
    from: provider,
    to,
    reason: '',
    fromChannelId: channelId,
    toChannelId,
    wakeUp,
  }
}

type FellBack = Extract<FallbackResult, { result: 'fell_back' }>

async function record(transaction: Transaction, decided: readonly Decided[]): Promise<FallbackResult[]> {
  const falling: FallbackRow[] = []
  const fell: Omit<FellBack, 'wakeUp'>[] = []
  const unused: UnusedFallback[] = []
  const stayed: FallbackResult[] = []
  for (const { ended, candidate, decision } of decided) {
    const { requestId, provider: from, channelId: fromChannelId } = ended
    const { send, target } = candidate
    const { reason: ownReason, providerCode } = send.timeline
    const { channelId: toChannelId, provider: to } = target
    if (decision.result === 'not_meant') continue
    if (decision.result === 'fell_back') {
      const { message, reason } = decision
      falling.push({ requestId, toChannelId, message, reason, providerCode })
      fell.push({ result: 'fell_back', requestId, from, to, reason, fromChannelId, toChannelId })
    } else {
      const reason = reasonWithUnusedFallback(ownReason ?? 'not delivered', target, decision.why)
      unused.push({ requestId, reason })
      stayed.push({ result: decision.result, requestId, from, to, reason })
    }
  }
  if (unused.length > 0) await noteFallbackUnused(transaction, unused)
  const wakeUps = falling.length > 0 ? await moveToFallbacks(transaction, falling) : []
  const wakeUpOf = new Map(wakeUps.map((wakeUp) => [wakeUp.requestId, wakeUp]))
  return [
    ...stayed,
    ...fell.map((one) => ({ ...one, wakeUp: wakeUpOf.get(one.requestId) ?? { requestId: one.requestId } })),
  ]
}

/** Logs and counts what became of a send that ended on a channel with a fallback. */
export function noteFallback({ log, metrics }: Needs<'log' | 'metrics'>, fallback: FallbackResult): void {
  const { requestId, from, to, result } = fallback
  metrics.fallbacks.inc({ from, to, result })
  if (fallback.result !== 'fell_back') return
  const { fromChannelId, toChannelId, reason } = fallback
  logEvent(log, requestId, 'fell_back', { fromChannelId, toChannelId, reason })
}

/** The wake-ups of those that fell back. */
export const wakeUpsOf = (ended: readonly { fallback?: FallbackResult | undefined }[]): WakeUp[] =>
  ended.flatMap(({ fallback }) => (fallback?.result === 'fell_back' ? [fallback.wakeUp] : []))

interface FailedEnd {
  requestId: string
  reason: string | undefined
  fallback?: FallbackResult | undefined
}

/** Logs and counts that a send failed, or what became of it instead. @param follow what to do if it has ended. */
export function noteFailure(
  runtime: Needs<'log' | 'metrics'>,
  { requestId, reason, fallback }: FailedEnd,
  follow = (end: SendEnd) => noteEnd(runtime, end),
): void {
  if (fallback) noteFallback(runtime, fallback)
  if (fallback?.result === 'fell_back') return
  follow({ requestId, status: 'failed', fields: { reason: fallback?.reason ?? reason } })
}
