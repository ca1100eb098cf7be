import type { Advice, Explanation, ExplanationEntry } from '../core/explanation/explain.ts'
import { apiKeyWords, idempotencyKeyWords, type PostedBy } from '../core/sends/posted-by.ts'
import type { Timeline } from '../core/sends/timeline.ts'

const timeWidth = '2026-01-01T12:00:00.000Z'.length
const eventWidth = 'conversation_closed'.length

/** Renders a send's explanation for a terminal. */
export function renderExplanation(explanation: Explanation, timeline: Timeline): string {
  const { summary, entries } = explanation
  return [renderHead(timeline), summary, ...entries.map(renderEntry), ...renderEnd(explanation)].join('\n')
}

export function renderHead({ requestId, status, delivery, messageType, contact }: Timeline): string {
  const state = delivery === null ? status : `${status}, ${delivery}`
  return `${requestId}  ${state}  ${messageType} to ${contact.value}`
}

/** The event has the same name in the logs and in the API. */
export function renderEntry({ at, event, wait, text, answer }: ExplanationEntry): string {
  const margin = ' '.repeat(timeWidth + eventWidth + 6)
  const lines = [
    ...(wait ? [`${margin}(${wait.text})`] : []),
    `  ${at}  ${event.padEnd(eventWidth)}  ${text}`,
    ...(answer ? renderAnswer(answer).map((line) => `${margin}${line}`) : []),
  ]
  return lines.join('\n')
}

function renderAnswer({
  status,
  code,
  meaning,
  messageId,
}: NonNullable<ExplanationEntry['answer']>): string[] {
  const numbers = [status !== null && `status ${status}`, code !== null && `code ${code}`]
    .filter(Boolean)
    .join(', ')
  return [
    ...(numbers ? [meaning === null ? numbers : `${numbers}: ${meaning}`] : []),
    ...(messageId === null ? [] : [`provider message id: ${messageId}`]),
  ]
}

export function renderEnd({ next, advice, forCustomer }: Explanation): string[] {
  return [
    ...(next ? [`  Next: ${next.at === null ? '' : `${next.at}  `}${next.text}`] : []),
    ...(advice ? [`  To do: ${renderAdvice(advice)}`] : []),
    `  For the customer: ${forCustomer}`,
  ]
}

export function renderPostedBy(posted: PostedBy): string {
  const id = posted.apiKeyPrefix === null ? '' : ` (${posted.apiKeyId})`
  return `  API key: ${apiKeyWords(posted)}${id}; Idempotency-Key: ${idempotencyKeyWords(posted)}`
}

export function renderAdvice({ text, command }: Advice): string {
  return command === undefined ? text : `${text} Run: outbound ${command}`
}
