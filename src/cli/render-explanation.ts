import type { Advice, Explanation, ExplanationEntry } from '../core/explanation.ts'
import type { Timeline } from '../core/timeline.ts'

const timeWidth = '2026-01-01T12:00:00.000Z'.length
const eventWidth = 'conversation_closed'.length

/** A send's story for a terminal. */
export function renderExplanation(story: Explanation, timeline: Timeline): string {
  return [renderHead(timeline), story.summary, ...story.entries.map(renderEntry), ...renderEnd(story)].join(
    '\n',
  )
}

export function renderHead({ requestId, status, messageType, contact }: Timeline): string {
  return `${requestId}  ${status}  ${messageType} to ${contact.value}`
}

/** Under the name of the event, which is its name in the logs and in the API, too. */
export function renderEntry({ at, event, gap, text, answer }: ExplanationEntry): string {
  const margin = ' '.repeat(timeWidth + eventWidth + 6)
  const lines = [
    ...(gap ? [`${margin}(${gap.text})`] : []),
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
    ...(messageId === null ? [] : [`its message id: ${messageId}`]),
  ]
}

/** What comes next, and what there is to do. */
export function renderEnd({ next, advice, forCustomer }: Explanation): string[] {
  return [
    ...(next ? [`  Next: ${next.at === null ? '' : `${next.at}  `}${next.text}`] : []),
    ...(advice ? [`  To do: ${renderAdvice(advice)}`] : []),
    `  For the customer: ${forCustomer}`,
  ]
}

export function renderAdvice({ text, command }: Advice): string {
  return command === undefined ? text : `${text} Run: ${command}`
}
