import { type ProviderName, providerRules } from '../../providers/index.ts'
import type { ProviderRules } from '../channels/provider.ts'
import type { AttemptRecord } from '../sends/timeline.ts'
import type { ExplanationAnswer } from './model.ts'

/** The provider's answer to an attempt; all fields are null if there was none. */
export function answerOf(
  attempt: Pick<AttemptRecord, 'providerStatus' | 'providerCode' | 'providerMessageId'>,
  provider: ProviderName,
): ExplanationAnswer {
  const status = attempt.providerStatus ?? null
  const code = attempt.providerCode || null
  const rules: ProviderRules = providerRules[provider]
  const meaning = rules.meaningOf({ providerStatus: status ?? undefined, providerCode: code ?? undefined })
  return { status, code, meaning: meaning ?? null, messageId: attempt.providerMessageId || null }
}
