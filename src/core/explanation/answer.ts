import type { AttemptRecord } from '../sends/timeline.ts'
import type { ExplanationAnswer, SendFacts } from './model.ts'

/** The provider's answer to an attempt; all fields are null if there was none. */
export function answerOf(
  attempt: Pick<AttemptRecord, 'providerStatus' | 'providerCode' | 'providerMessageId'>,
  provider: string,
  meaningOf: SendFacts['meaningOf'],
): ExplanationAnswer {
  const status = attempt.providerStatus ?? null
  const code = attempt.providerCode || null
  const answer = { providerStatus: status ?? undefined, providerCode: code ?? undefined }
  const meaning = meaningOf(provider, answer) ?? null
  return { status, code, meaning, messageId: attempt.providerMessageId || null }
}
