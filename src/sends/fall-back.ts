import type { Transaction } from '../../db/connection/client.ts'
import {
  type FallbackCandidate,
  type FallbackRow,
  findFallbacks,
  moveToFallbacks,
  noteFallbackUnused,
  type UnusedFallback,
} from '../../db/delivery/fall-back.ts'
import {
  decideFallback,
  type FallbackDecision,
  reasonWithUnusedFallback,
  type UnusedResult,
  unusedFallback,
} from '../core/sends/fallback.ts'
import type { WakeUp } from '../core/sends/send-job.ts'
import { suppressionKey as keyFrom } from '../core/suppression/suppression.ts'
import { logFault } from '../platform/log/logger.ts'
import type { Needs } from '../runtime.ts'
import { channelRules } from './channel-rules.ts'

export type FallbackSettings =
  | 'CREDENTIALS_KEY'
  | 'CREDENTIALS_KEY_PREVIOUS'
  | 'PUBLIC_BASE_URL'
  | 'API_KEY_PEPPER'

/** A send that has ended, on this channel. */
export interface Ended {
  requestId: string
  channelId: string
  provider: string
  /** Whether its end was committed before: only a doubt that has cleared since may move it. */
  wasSeen?: boolean
}

/** The result of a send that has ended on a channel with a fallback. */
export type FallbackResult = { requestId: string; from: string; to: string; reason: string } & (
  | { result: UnusedResult }
  | { result: 'fell_back'; fromChannelId: string; toChannelId: string; wakeUp: WakeUp }
)

export type WithFallback<Row> = Row & { fallback?: FallbackResult | undefined }

interface Decided {
  ended: Ended
  candidate: FallbackCandidate & { target: NonNullable<FallbackCandidate['target']> }
  decision: FallbackDecision
  /** Whether the end was committed before, and the fallback was not used then. */
  wasSeen: boolean
}

/**
 * Moves sends that have just ended to their fallback channels, or records why the fallback was not used. Call it only for sends
 * of channels that have a fallback, in the transaction that ended them, and `noteFallback` for each result after that.
 */
export function createFallback(runtime: Needs<'log', FallbackSettings>) {
  const { settings } = runtime
  const rulesOf = channelRules(runtime)
  const suppressionKey = keyFrom(settings.API_KEY_PEPPER)
  const hasPublicUrl = settings.PUBLIC_BASE_URL !== undefined

  const decide = (ended: Ended, candidate: FallbackCandidate): Decided | undefined => {
    const { send, rule, target } = candidate
    if (!target) return undefined
    const unused = unusedFallback(send.timeline)
    if ((unused || ended.wasSeen) && !unused?.isInDoubt) return undefined
    // The config of a deleted channel is gone.
    const { isDeleted, sealedConfig } = target
    const ofTarget = {
      ...target,
      rules: rulesOf({ ...target, sealedConfig: isDeleted ? null : sealedConfig }),
    }
    const timeline = unused ? { ...send.timeline, reason: unused.ownReason } : send.timeline
    const decideOne = () => decideFallback({ ...send, timeline, hasPublicUrl }, rule, ofTarget)
    const decision = decideSafely(decideOne, ended)
    if (unused && decision.result === 'in_doubt') return undefined
    return {
      ended,
      candidate: { ...candidate, send: { ...send, timeline }, target },
      decision,
      wasSeen: unused !== undefined,
    }
  }

  /** An internal error of one must not keep the ends of others from being recorded. */
  const decideSafely = (decideOne: () => FallbackDecision, { requestId }: Ended): FallbackDecision => {
    try {
      return decideOne()
    } catch (error) {
      logFault(runtime.log, 'fallback_fault', error, { requestId })
      return { result: 'not_carried', why: 'it could not be decided; see fallback_fault in the log' }
    }
  }

  return async (transaction: Transaction, ended: readonly Ended[]): Promise<FallbackResult[]> => {
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
    return [...results, ...(await apply(transaction, decided))]
  }
}

/** The result for a late answer of a channel that the send has already left: it fell back. */
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

async function apply(transaction: Transaction, decided: readonly Decided[]): Promise<FallbackResult[]> {
  const falling: FallbackRow[] = []
  const fell: Omit<FellBack, 'wakeUp'>[] = []
  const unused: UnusedFallback[] = []
  const stayed: FallbackResult[] = []
  for (const { ended, candidate, decision, wasSeen } of decided) {
    const { requestId, provider: from, channelId: fromChannelId } = ended
    const { send, target } = candidate
    const { reason: ownReason, providerCode } = send.timeline
    const { channelId: toChannelId, provider: to } = target
    if (decision.result === 'not_meant') continue
    if (decision.result === 'fell_back') {
      const { message, reason } = decision
      falling.push({ requestId, toChannelId, message, reason, providerCode, wasSeen })
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
