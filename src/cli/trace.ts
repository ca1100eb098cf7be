import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Database } from '../../db/connection/client.ts'
import { lookUp } from '../../db/look-up/look-up.ts'
import { type Target, targetsWithIds } from '../../db/look-up/targets.ts'
import { findExplanation } from '../../db/sends/explanation.ts'
import { listSends } from '../../db/sends/list.ts'
import { findPostedBy } from '../../db/sends/same-content.ts'
import { findSend } from '../../db/sends/sends.ts'
import { type Explanation, type ExplanationEntry, explain } from '../core/explanation/explain.ts'
import { explainNothing, noMatchWords } from '../core/search/in-words.ts'
import type { PostedBy } from '../core/sends/posted-by.ts'
import { buildTimeline, type Timeline } from '../core/sends/timeline.ts'
import type { CodeMeaning } from '../providers/look-up-code.ts'
import { type Answerer, type CliContext, CliError } from './answer.ts'
import {
  renderAdvice,
  renderEnd,
  renderEntry,
  renderExplanation,
  renderHead,
  renderPostedBy,
} from './render-explanation.ts'

const pollEveryMs = 500

interface Trace {
  timeline: Timeline
  explanation: Explanation
}

export function traceCommand(program: Command, answer: Answerer): void {
  program
    .command('trace')
    .argument('<text>', 'what you have: a requestId, a log line, a contact, a reference, a name or a code')
    .option('--follow', 'print new events until the send has ended; exits with 0 only if it was sent')
    .action(async (pasted: string, { follow }: { follow?: boolean }, command: Command) => {
      const { json } = command.optsWithGlobals<{ json?: boolean }>()
      let trace: Trace | undefined
      let postedBy: PostedBy | undefined
      let found: Found | undefined
      await answer<Timeline | Found>(
        command,
        async (context) => {
          const one = await find(context, pasted)
          if ('found' in one) {
            found = one
            return one
          }
          trace = follow ? await followToEnd(context.db, one, json ? () => {} : context.print) : one
          if (!json) postedBy = await findPostedBy(context.db, trace.timeline.requestId)
          return trace.timeline
        },
        () => (trace ? renderTrace(trace, postedBy, follow === true) : renderFound(found)),
      )
      if (follow && trace && trace.timeline.status !== 'sent')
        throw new CliError('failed', oneLine(trace.explanation))
    })
}

/** The things that a text leads to, if that is no single send. */
interface Found {
  found: Pick<Target, 'kind' | 'id' | 'name' | 'accountId' | 'accountName'>[]
  codes: CodeMeaning[]
}

async function find(context: CliContext, pasted: string): Promise<Trace | Found> {
  const { db } = context
  const lookedUp = await lookUp(db, pasted)
  const { only, looked, codes } = lookedUp
  const found = looked.flatMap(({ targets: theirs }) => theirs)
  const targets = only?.kind === 'contactOfSend' ? await sendsOfContact(db, only) : found
  const [first, another] = targets
  const trace = first?.kind === 'send' && !another ? await traceOf(db, first.id) : undefined
  if (trace) return trace
  if (targets.length > 0 || codes.length > 0) return { found: targets, codes }
  const facts = { now: new Date(), retentionDays: context.setting('RETENTION_DAYS') }
  const { requestId, why, next } = explainNothing(pasted, lookedUp, facts)
  throw new CliError(
    'not_found',
    [`${requestId ?? pasted}: ${why}`, ...next, noMatchWords(looked)].filter(Boolean).join(' '),
  )
}

const maxOfContact = 20

/** The newest sends of the contact of a send, in its account. */
async function sendsOfContact(db: Database, { id, accountId }: Target): Promise<Target[]> {
  const send = (await findSend(db, id))?.send
  if (!send) return []
  const contact = { type: send.contactType, value: send.contactValue }
  const { sends } = await listSends(db, accountId, { limit: maxOfContact, contact })
  return await targetsWithIds(
    db,
    sends.map(({ requestId }) => requestId),
  )
}

const kindNames: Record<Target['kind'], string> = {
  send: 'send',
  channel: 'channel',
  endpoint: 'endpoint',
  flow: 'flow',
  conversation: 'conversation',
  suppression: 'suppression',
  account: 'account',
  contactOfSend: 'contact, whose newest send there is',
  contactOfSuppression: 'contact, whose suppression there is',
}

function renderFound(found: Found | undefined): string {
  const { found: targets = [], codes = [] } = found ?? {}
  return [
    ...codes.map(({ code, provider, meaning, advice }) => `${provider} ${code}: ${meaning} ${advice}`),
    ...targets.map(({ kind, id, name, accountName }) =>
      [kindNames[kind], id, name, `of ${accountName}`].filter(Boolean).join('  '),
    ),
  ].join('\n')
}

/** A send's timeline, with the contact masked, and its explanation. */
export async function traceOf(db: Database, requestId: string): Promise<Trace | undefined> {
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
    trace = (await traceOf(db, trace.timeline.requestId)) ?? trace
  }
}

/** Events are distinguished by name and number, because the recorded start of an attempt may still change. */
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

function renderTrace(
  { explanation, timeline }: Trace,
  postedBy: PostedBy | undefined,
  isFollowed: boolean,
): string {
  return [
    isFollowed
      ? [explanation.summary, ...renderEnd(explanation)].join('\n')
      : renderExplanation(explanation, timeline),
    ...(postedBy ? [renderPostedBy(postedBy)] : []),
  ].join('\n')
}

const oneLine = ({ summary, advice }: Explanation) =>
  [summary, advice && renderAdvice(advice)].filter(Boolean).join(' ')
