import type { ProviderRules } from '../provider.ts'
import { type ProviderName, providerRules } from '../providers/index.ts'
import type { TimelineEvent } from '../timeline.ts'
import type { ExplanationAnswer } from './model.ts'

export const text = (field: unknown) => (typeof field === 'string' ? field : '')

/** What the provider answered, of an `attempt_finished`; all null where nothing came back. */
export function answerOf(event: TimelineEvent, provider: ProviderName): ExplanationAnswer {
  const status = typeof event.providerStatus === 'number' ? event.providerStatus : null
  const code = text(event.providerCode) || null
  const rules: ProviderRules = providerRules[provider]
  const meaning = rules.meaningOf({ providerStatus: status ?? undefined, providerCode: code ?? undefined })
  return { status, code, meaning: meaning ?? null, messageId: text(event.providerMessageId) || null }
}
