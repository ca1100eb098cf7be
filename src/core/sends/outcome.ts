import { dayMs } from '../durations.ts'
import type { SuppressingSign } from '../suppression/suppression.ts'
import type { Cost } from './cost.ts'
import { lastAttempt, ownReasons } from './own-reasons.ts'
import type { OwnShortage } from './own-shortage.ts'

/** A provider's status and code, as far as it gave them. Stored in the timeline: never content or credentials. */
export interface ProviderAnswer {
  providerStatus?: number | undefined
  /** The code of a failure; or of an accepted message, for example one that the provider holds back. */
  providerCode?: string | undefined
  /** The sign that suppresses its contact, or null for none, where the code alone doesn't decide it (ProviderRules.suppressingCodes). */
  suppresses?: SuppressingSign | null | undefined
}

/**
 * Whose fault a failed call is: `provider` (its API, its server, the connection to it), `recipient` (a full mailbox, a limit of
 * messages to one contact), `message` (or its media), or `sender` (the channel's credentials, the address or number that it
 * sends from, the account and its limits).
 */
export type Fault = (typeof faults)[number]
export const faults = ['provider', 'recipient', 'message', 'sender'] as const

/** The outcome and fault of a failed call, as in a provider's table of codes. */
export type Failure =
  | { outcome: 'rejected'; fault: 'recipient' | 'message' | 'sender' }
  | { outcome: 'retry_later'; fault: Fault }
  | { outcome: 'channel_refused'; fault: 'sender' }

/**
 * The outcome of one call to a provider. The provider's module says what happened and whose fault it is; the pipeline decides
 * what follows. `uncertain` is for a call that may or may not have gone through: never guess. `channel_refused` is for a
 * refusal that doesn't depend on the send; it holds the channel. The circuit breaker only counts failures with the fault
 * `provider`.
 */
export type Outcome =
  | ({
      outcome: 'sent'
      providerMessageId?: string | undefined
      cost?: Cost | undefined
    } & ProviderAnswer)
  | (Failure & { reason: string; retryAfterMs?: number | undefined } & ProviderAnswer)
  | ({ outcome: 'uncertain'; fault: Fault; reason: string } & ProviderAnswer)

/**
 * The outcome of an attempt: the provider's outcome, or `not_called` if the worker didn't call it. If `keepsDueTime`, the send
 * goes before those that fell due after it, as if the attempt had not been made. `shortage`: the machine couldn't begin the call.
 */
export type AttemptOutcome =
  | Outcome
  | ({
      outcome: 'not_called'
      reason: string
      delayMs?: number
      keepsDueTime?: true
      shortage?: OwnShortage
    } & ProviderAnswer)

export const onUncertainWords = ['resend', 'hold'] as const
export type OnUncertain = (typeof onUncertainWords)[number]

const longestProviderText = 500

/** Cleans a provider's text, so that it can be stored and printed: short, on one line, without NUL. */
export function tidyText(text: string): string {
  return (
    text
      .replace(/\p{Cc}+/gu, ' ')
      .slice(0, longestProviderText)
      // Last, because the cut may halve a character, which PostgreSQL refuses.
      .toWellFormed()
  )
}

/** Cleans the provider's texts in an outcome. */
export function tidy(outcome: AttemptOutcome): AttemptOutcome {
  const texts = Object.entries(outcome).filter(
    (entry): entry is [string, string] => typeof entry[1] === 'string',
  )
  return { ...outcome, ...Object.fromEntries(texts.map(([name, text]) => [name, tidyText(text)])) }
}

/** The send's next state after an attempt (docs/reference/timeline.md#states). */
export type Verdict =
  | { status: 'sent' }
  | { status: 'failed'; reason: string }
  | { status: 'uncertain'; reason: string }
  | {
      status: 'queued'
      reason: string
      delayMs: number
      isUncounted?: true
      keepsDueTime?: true
      holdsChannel?: true
    }

export interface RetryRules {
  /** Delays before the second, third, … attempt. There is one more attempt than delays. */
  retryDelaysSeconds: readonly number[]
  onUncertain: OnUncertain
  /** 0 to 1; spreads the retries of sends that failed together. */
  random: number
}

const notCalledDelayMs = 1000

/** @param attempt the number of the attempt that just ended; counted from 1 again after a replay. */
export function decide(outcome: AttemptOutcome, attempt: number, rules: RetryRules): Verdict {
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
    case 'not_called': {
      const verdict = { status: 'queued', reason: outcome.reason, isUncounted: true } as const
      if (outcome.keepsDueTime) return { ...verdict, delayMs: 0, keepsDueTime: true }
      return { ...verdict, delayMs: outcome.delayMs ?? notCalledDelayMs }
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

/** The next state of a send that was given up as uncertain, when its outcome comes late; undefined if that is uncertain too. */
export function decideLate(
  outcome: AttemptOutcome,
): { status: 'sent' } | { status: 'failed'; reason: string } | undefined {
  switch (outcome.outcome) {
    case 'sent':
      return { status: 'sent' }
    case 'rejected':
    case 'retry_later':
    case 'channel_refused':
    case 'not_called':
      // No retry, because the contact's next send may have gone out already.
      return { status: 'failed', reason: outcome.reason }
    case 'uncertain':
      return undefined
    default:
      return outcome satisfies never
  }
}

export const maxLosses = 5

/** The next state of a send whose worker was lost during an attempt. After `maxLosses` such attempts it is given up. */
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
  if (claim.losses + 1 >= maxLosses) {
    return {
      status: 'failed',
      reason: ownReasons.givenUp,
    } as const
  }
  if (!claim.mayHaveCalled) {
    const reason = `worker ${claim.worker} was lost before it called the provider`
    return { status: 'queued', reason, delayMs: notCalledDelayMs } as const
  }
  const reason = `worker ${claim.worker} was lost before it recorded the provider's answer`
  return decideUncertain(reason, claim.attempt - claim.attemptsBeforeReplay, rules)
}

/** Longer waits are cut to this. */
export const longestRetryAfterMs = 7 * dayMs

/** Undefined after the last attempt. A Retry-After of who was called counts if it is longer, and isn't spread. */
export function retryDelayMs(
  attempt: number,
  rules: Pick<RetryRules, 'retryDelaysSeconds' | 'random'>,
  retryAfterMs = 0,
): number | undefined {
  const delaySeconds = rules.retryDelaysSeconds[attempt - 1]
  if (delaySeconds === undefined) return undefined
  const spreadMs = delaySeconds * 1000 * (0.8 + 0.4 * rules.random)
  return Math.round(Math.max(spreadMs, Math.min(retryAfterMs, longestRetryAfterMs)))
}
