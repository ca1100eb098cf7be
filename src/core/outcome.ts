import { lastAttempt, ownReasons } from './own-reasons.ts'

/** What a provider answered, as far as it said so. Kept in the timeline: never message content or credentials. */
export interface ProviderAnswer {
  providerStatus?: number | undefined
  /** Of a failure, or of what it does with a message that it took, such as holding it back. */
  providerCode?: string | undefined
}

/**
 * Whose fault a failed call is: the provider's (its API, its server, the way to it), the recipient's (a full mailbox, a
 * limit of messages to one contact), the message's or its media's, or the sender's (the channel's credentials, the
 * address or number that it sends from, the account and its limits).
 */
export type Fault = (typeof faults)[number]
export const faults = ['provider', 'recipient', 'message', 'sender'] as const

/** What a failed call comes to, and by whose fault: an entry of a provider's table of codes says as much. */
export type Failure =
  | { outcome: 'rejected'; fault: 'recipient' | 'message' }
  | { outcome: 'retry_later'; fault: Fault }
  | { outcome: 'channel_refused'; fault: 'sender' }

/**
 * What became of one call to a provider. The provider's module says what happened and by whose fault; only the pipeline
 * decides what follows. `uncertain` is for a call that may or may not have gone through: never guess. `channel_refused`
 * is for a refusal that has nothing to do with the send: it holds the channel. The circuit breaker counts a failure only
 * where the fault is the provider's.
 */
export type Outcome =
  | ({ outcome: 'sent'; providerMessageId?: string | undefined } & ProviderAnswer)
  | (Failure & { reason: string; retryAfterMs?: number | undefined } & ProviderAnswer)
  | ({ outcome: 'uncertain'; fault: Fault; reason: string } & ProviderAnswer)

/** What may come of an attempt: besides what the provider's module says, that the worker didn't call it after all. */
export type AttemptResult =
  | Outcome
  | ({ outcome: 'not_called'; reason: string; delayMs?: number } & ProviderAnswer)

export type OnUncertain = 'resend' | 'hold'

const longestProviderText = 500

/** An outcome whose texts, which are the provider's, can be stored and printed: short, on one line, without NUL. */
export function tidy(outcome: AttemptResult): AttemptResult {
  const texts = Object.entries(outcome).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  const clean = (text: string) =>
    text
      .toWellFormed()
      .replace(/\p{Cc}+/gu, ' ')
      .slice(0, longestProviderText)
  return { ...outcome, ...Object.fromEntries(texts.map(([name, text]) => [name, clean(text)])) }
}

/** What follows from an outcome: the send's next state (docs/reference/timeline.md#states). */
export type Verdict =
  | { status: 'sent' }
  | { status: 'failed'; reason: string }
  | { status: 'uncertain'; reason: string }
  | { status: 'queued'; reason: string; delayMs: number; isUncounted?: true; holdsChannel?: true }

export interface RetryRules {
  /** Delays before the second, third, … attempt; one more attempt than there are delays. */
  retryDelaysSeconds: readonly number[]
  onUncertain: OnUncertain
  /** 0 to 1, spreads retries of sends that failed together. */
  random: number
}

const notCalledDelayMs = 1000

/** @param attempt the attempt that just ended, counted from 1 anew where the send was replayed. */
export function decide(outcome: AttemptResult, attempt: number, rules: RetryRules): Verdict {
  switch (outcome.outcome) {
    case 'sent':
      return { status: 'sent' }
    case 'rejected':
      return { status: 'failed', reason: outcome.reason }
    case 'retry_later': {
      const delayMs = retryDelayMs(attempt, rules, outcome.retryAfterMs)
      if (delayMs !== undefined) return { status: 'queued', reason: outcome.reason, delayMs }
      return { status: 'failed', reason: `${outcome.reason} ${lastAttempt}` }
    }
    case 'uncertain':
      return decideUncertain(outcome.reason, attempt, rules)
    case 'channel_refused':
      return { status: 'queued', reason: outcome.reason, delayMs: 0, isUncounted: true, holdsChannel: true }
    case 'not_called':
      return {
        status: 'queued',
        reason: outcome.reason,
        delayMs: outcome.delayMs ?? notCalledDelayMs,
        isUncounted: true,
      }
    default:
      return outcome satisfies never
  }
}

function decideUncertain(reason: string, attempt: number, rules: RetryRules) {
  const delayMs = rules.onUncertain === 'resend' ? retryDelayMs(attempt, rules) : undefined
  if (delayMs === undefined) return { status: 'uncertain', reason } as const
  return { status: 'queued', reason, delayMs } as const
}

/** What a late outcome makes of a send that was given up as uncertain; undefined where it doesn't know either. */
export function decideLate(
  outcome: AttemptResult,
): { status: 'sent' } | { status: 'failed'; reason: string } | undefined {
  switch (outcome.outcome) {
    case 'sent':
      return { status: 'sent' }
    case 'rejected':
    case 'retry_later':
    case 'channel_refused':
    case 'not_called':
      // No retry: what follows to the same contact may be on its way already.
      return { status: 'failed', reason: outcome.reason }
    case 'uncertain':
      return undefined
    default:
      return outcome satisfies never
  }
}

export const mostLosses = 5

/** What becomes of a send whose worker was lost in the middle of an attempt; one on which workers keep crashing is given up. */
export function decideLoss(
  claim: {
    worker: string
    losses: number
    attempt: number
    attemptsBeforeReplay: number
    mayHaveCalled: boolean
  },
  rules: RetryRules,
) {
  if (claim.losses + 1 >= mostLosses) {
    return {
      status: 'failed',
      reason: ownReasons.givenUp,
    } as const
  }
  if (!claim.mayHaveCalled) {
    const reason = `worker ${claim.worker} was lost before it called the provider`
    return { status: 'queued', reason, delayMs: notCalledDelayMs } as const
  }
  const reason = `worker ${claim.worker} was lost before it could tell what the provider answered`
  return decideUncertain(reason, claim.attempt - claim.attemptsBeforeReplay, rules)
}

/** Longer ones are as good as never. */
const longestRetryAfterMs = 7 * 24 * 3600 * 1000

/** Undefined after the last attempt. A provider's own Retry-After counts where it is longer, and isn't spread. */
function retryDelayMs(attempt: number, rules: RetryRules, retryAfterMs = 0): number | undefined {
  const delaySeconds = rules.retryDelaysSeconds[attempt - 1]
  if (delaySeconds === undefined) return undefined
  const spreadMs = delaySeconds * 1000 * (0.8 + 0.4 * rules.random)
  return Math.round(Math.max(spreadMs, Math.min(retryAfterMs, longestRetryAfterMs)))
}
