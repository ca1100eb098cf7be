import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Database } from '../../db/client.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import { type Explanation, type ExplanationEntry, explain } from '../core/explanation/explain.ts'
import { explainUnknownId, findRequestId } from '../core/request-id.ts'
import { buildTimeline, type Timeline } from '../core/timeline.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { renderAdvice, renderEnd, renderEntry, renderExplanation, renderHead } from './render-explanation.ts'

const pollEveryMs = 500

interface Trace {
  timeline: Timeline
  explanation: Explanation
}

export function traceCommand(program: Command, answer: Answerer): void {
  program
    .command('trace')
    .description("show a send's status and timeline, and explain them")
    .argument('<requestId>', 'alone, in quotes, in a URL or in a whole log line')
    .option('--follow', 'print new events until the send has ended; exits with 0 only if it was sent')
    .action(async (pasted: string, { follow }: { follow?: boolean }, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: boolean }>()
      let trace: Trace | undefined
      await answer(
        command,
        async (context) => {
          trace = await findTrace(context, pasted)
          if (follow) trace = await followToEnd(context.db, trace, json ? () => {} : context.print)
          return trace.timeline
        },
        () => (trace ? renderTrace(trace, follow === true) : ''),
      )
      if (follow && trace && trace.timeline.status !== 'sent') throw new CliError(oneLine(trace.explanation))
    })
}

async function findTrace(context: CliContext, pasted: string): Promise<Trace> {
  const requestId = findRequestId(pasted)
  const trace = requestId && (await lookUp(context.db, requestId))
  if (trace) return trace
  const retentionDays = context.setting('RETENTION_DAYS')
  const { why, next } = explainUnknownId(pasted, { now: new Date(), retentionDays })
  throw new CliError([`${requestId ?? pasted}: ${why}`, ...next].join(' '))
}

/** A send's timeline, with the contact masked, and its explanation. */
export async function lookUp(db: Database, requestId: string): Promise<Trace | undefined> {
  const found = await findExplanation(db, requestId)
  if (!found) return undefined
  const timeline = buildTimeline(found.send, found.events, 'masked')
  return { timeline, explanation: explain(timeline, found.facts) }
}

/** Prints each new event, and the summary when it has changed. */
async function followToEnd(db: Database, first: Trace, print: (line: string) => void): Promise<Trace> {
  const shown = new Set<string>()
  let trace = first
  let summary: string | undefined
  print(renderHead(trace.timeline))
  for (;;) {
    for (const entry of newEntries(trace.explanation.entries, shown)) print(renderEntry(entry))
    if (trace.timeline.finishedAt !== null) return trace
    if (trace.explanation.summary !== summary) print(trace.explanation.summary)
    summary = trace.explanation.summary
    await sleep(pollEveryMs)
    trace = (await lookUp(db, trace.timeline.requestId)) ?? trace
  }
}

/** Events are told apart by name and number, because the recorded start of an attempt may still change. */
function newEntries(entries: readonly ExplanationEntry[], shown: Set<string>): ExplanationEntry[] {
  const counts = new Map<string, number>()
  return entries.filter(({ event }) => {
    const number = (counts.get(event) ?? 0) + 1
    counts.set(event, number)
    const key = `${event} ${number}`
    const isNew = !shown.has(key)
    shown.add(key)
    return isNew
  })
}

function renderTrace({ explanation, timeline }: Trace, isFollowed: boolean): string {
  return isFollowed
    ? [explanation.summary, ...renderEnd(explanation)].join('\n')
    : renderExplanation(explanation, timeline)
}

const oneLine = ({ summary, advice }: Explanation) =>
  [summary, advice && renderAdvice(advice)].filter(Boolean).join(' ')
