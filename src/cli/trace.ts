import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Database } from '../../db/client.ts'
import { findExplanation } from '../../db/support/explanation.ts'
import { type Explanation, type ExplanationEntry, explain } from '../core/explanation.ts'
import { explainUnknownId, findRequestId } from '../core/request-id.ts'
import { buildTimeline, type Timeline } from '../core/timeline.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import { renderAdvice, renderEnd, renderEntry, renderExplanation, renderHead } from './render-explanation.ts'

const lookEveryMs = 500

interface Told {
  timeline: Timeline
  story: Explanation
}

export function traceCommand(program: Command, answer: Answerer): void {
  program
    .command('trace')
    .description('what became of a send')
    .argument('<requestId>', 'however it was copied: in quotes, in a URL, in a whole log line')
    .option('--follow', 'tell on until the send has ended; exits with 0 only if it was sent')
    .action(async (pasted: string, { follow }: { follow?: boolean }, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: boolean }>()
      let told: Told | undefined
      await answer(
        command,
        async (context) => {
          told = await tell(context, pasted)
          if (follow) told = await followToEnd(context.db, told, json ? () => {} : context.print)
          return told.timeline
        },
        () => (told ? renderTold(told, follow === true) : ''),
      )
      if (follow && told && told.timeline.status !== 'sent') throw new CliError(oneLine(told.story))
    })
}

async function tell(context: CliContext, pasted: string): Promise<Told> {
  const requestId = findRequestId(pasted)
  const told = requestId && (await lookUp(context.db, requestId))
  if (told) return told
  const retentionDays = context.setting('RETENTION_DAYS')
  const { why, next } = explainUnknownId(pasted, { now: new Date(), retentionDays })
  throw new CliError([`${requestId ?? pasted}: ${why}`, ...next].join(' '))
}

/** A send's timeline, with the contact masked, and its story. */
export async function lookUp(db: Database, requestId: string): Promise<Told | undefined> {
  const found = await findExplanation(db, requestId)
  if (!found) return undefined
  const timeline = buildTimeline(found.send, found.events, 'masked')
  return { timeline, story: explain(timeline, found.facts) }
}

/** Prints what is new, and what it waits for where that has changed. */
async function followToEnd(db: Database, first: Told, print: (line: string) => void): Promise<Told> {
  const shown = new Set<string>()
  let told = first
  let summary: string | undefined
  print(renderHead(told.timeline))
  for (;;) {
    for (const entry of newEntries(told.story.entries, shown)) print(renderEntry(entry))
    if (told.timeline.finishedAt !== null) return told
    if (told.story.summary !== summary) print(told.story.summary)
    summary = told.story.summary
    await sleep(lookEveryMs)
    told = (await lookUp(db, told.timeline.requestId)) ?? told
  }
}

/** By name and number: the moment at which an attempt counts as begun may still change. */
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

function renderTold({ story, timeline }: Told, isFollowed: boolean): string {
  return isFollowed ? [story.summary, ...renderEnd(story)].join('\n') : renderExplanation(story, timeline)
}

const oneLine = ({ summary, advice }: Explanation) =>
  [summary, advice && renderAdvice(advice)].filter(Boolean).join(' ')
