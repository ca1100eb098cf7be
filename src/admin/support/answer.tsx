import type { ExplanationAnswer } from '../../core/explanation/model.ts'
import { Fact } from './send-details.tsx'

/** What a provider answered to a call. */
export function Answer({ answer: { status, code, meaning, messageId } }: { answer: ExplanationAnswer }) {
  return (
    <dl class="answer">
      {status !== null && <Fact name="Provider status">{status}</Fact>}
      {code !== null && <Fact name="Code">{code}</Fact>}
      {meaning !== null && <Fact name="Meaning">{meaning}</Fact>}
      {messageId !== null && <Fact name="Provider message id">{messageId}</Fact>}
    </dl>
  )
}
