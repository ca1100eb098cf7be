/** What a provider answered, as far as it said so. Kept in the timeline: never message content or credentials. */
interface ProviderAnswer {
  providerStatus?: number | undefined
  providerCode?: string | undefined
}

/**
 * What became of one call to a provider. The provider's module says what happened; only the pipeline decides what
 * follows. `uncertain` is for a call that may or may not have gone through: never guess. `channel_refused` is for a
 * refusal that has nothing to do with the send: of the channel's credentials, or of its endpoint.
 */
export type Outcome =
  | ({ outcome: 'sent'; providerMessageId?: string | undefined } & ProviderAnswer)
  | ({ outcome: 'rejected'; reason: string } & ProviderAnswer)
  | ({ outcome: 'retry_later'; reason: string; retryAfterMs?: number | undefined } & ProviderAnswer)
  | ({ outcome: 'uncertain'; reason: string } & ProviderAnswer)
  | ({ outcome: 'channel_refused'; reason: string } & ProviderAnswer)

export type OnUncertain = 'resend' | 'hold'

const longestProviderText = 500

/** An outcome whose texts, which are the provider's, can be stored and printed: short, on one line, without NUL. */
export function tidy(outcome: Outcome): Outcome {
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

/** What follows from an outcome: the send's next state (docs/api.md#states). */
export type Verdict =
  | { status: 'sent' }
  | { status: 'failed'; reason: string }
  | { status: 'uncertain'; reason: string }
  | { status: 'queued'; reason: string; delayMs: number; holdsChannel?: true }

export interface RetryRules {
  /** Delays before the second, third, … attempt; one more attempt than there are delays. */
  retryDelaysSeconds: readonly number[]
  onUncertain: OnUncertain
  /** 0 to 1, spreads retries of sends that failed together. */
  random: number
}

/** @param attempt the attempt that just ended, counted from 1. */
export function judge(outcome: Outcome, attempt: number, rules: RetryRules): Verdict {
  switch (outcome.outcome) {
    case 'sent':
      return { status: 'sent' }
    case 'rejected':
      return { status: 'failed', reason: outcome.reason }
    case 'retry_later': {
      const delayMs = retryDelayMs(attempt, rules, outcome.retryAfterMs)
      if (delayMs !== undefined) return { status: 'queued', reason: outcome.reason, delayMs }
      return { status: 'failed', reason: `${outcome.reason} (attempt ${attempt}, the last)` }
    }
    case 'uncertain': {
      const delayMs = rules.onUncertain === 'resend' ? retryDelayMs(attempt, rules) : undefined
      if (delayMs !== undefined) return { status: 'queued', reason: outcome.reason, delayMs }
      return { status: 'uncertain', reason: outcome.reason }
    }
    case 'channel_refused':
      return { status: 'queued', reason: outcome.reason, delayMs: 0, holdsChannel: true }
    default:
      return outcome satisfies never
  }
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
