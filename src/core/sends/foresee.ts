import { headStartMs } from './delivery-times.ts'
import { ownReasons } from './own-reasons.ts'

/** What keeps a send from being called: a reason, and when it ends; null if no time ends it. */
export interface ForeseenWait {
  reason: string
  until: Date | null
}

/** Reasons that only a dry run has, with what goes on after "It waits for": what else keeps a send is in db/reasons-to-wait.ts. */
export const ownWaits = {
  scheduled: 'the time for which it is scheduled',
  more_urgent: 'more urgent messages of its channel',
} as const

/** What is known of a send that was just accepted, and not committed. */
export interface ForeseenFacts {
  now: Date
  /** The time for which it is scheduled, else now. */
  dueAt: Date
  isLater: boolean
  expiresAt: Date | null
  /** Why it has ended without a call; null if it hasn't. */
  failure: string | null
  /** As PostgreSQL has them in JSON, the strongest first: for a later send, those that are known before. */
  waits: readonly { reason: string; until: string | null }[]
  /** The time until its wake-up by a permit; null without one. */
  permitInMs: number | null
  /** Whether a more urgent send of its channel goes first. */
  isAfterMoreUrgent: boolean
}

/** What a worker would decide about a send. */
export interface Foreseen {
  wouldSend: boolean
  /** Why not; null if it would be sent. */
  reason: string | null
  /** The earliest time at which its provider may be called; null if it never is. */
  dueAt: Date | null
  waitsFor: ForeseenWait[]
}

/** @param endByPermit the reasons that a permit ends. */
export function foresee(facts: ForeseenFacts, endByPermit: ReadonlySet<string>): Foreseen {
  const { failure, expiresAt } = facts
  if (failure !== null) return { wouldSend: false, reason: failure, dueAt: null, waitsFor: [] }
  const waitsFor = waitsOf(facts, endByPermit)
  const times = waitsFor.flatMap(({ until }) => (until ? [until.getTime()] : []))
  const dueAt = new Date(Math.max(facts.dueAt.getTime(), ...times))
  return expiresAt && expiresAt <= dueAt
    ? { wouldSend: false, reason: ownReasons.expired, dueAt: null, waitsFor }
    : { wouldSend: true, reason: null, dueAt, waitsFor }
}

function waitsOf(
  { now, dueAt, isLater, waits, permitInMs, isAfterMoreUrgent }: ForeseenFacts,
  endByPermit: ReadonlySet<string>,
): ForeseenWait[] {
  const found = waits.map(({ reason, until }) => ({ reason, until: until === null ? null : new Date(until) }))
  if (isLater) return [{ reason: 'scheduled', until: dueAt }, ...found]
  const left = permitInMs === null ? found : withPermit(found, now, permitInMs, endByPermit)
  return left.length === 0 && isAfterMoreUrgent ? [{ reason: 'more_urgent', until: null }] : left
}

/** A permit ends its waits, shortly before its call. */
function withPermit(
  found: readonly ForeseenWait[],
  now: Date,
  permitInMs: number,
  endByPermit: ReadonlySet<string>,
): ForeseenWait[] {
  const others = found.filter(({ reason }) => !endByPermit.has(reason))
  const permitted = found.find(({ reason }) => endByPermit.has(reason))
  const isClaimed = permitInMs < headStartMs
  const until = new Date(now.getTime() + permitInMs + headStartMs)
  return permitted && !isClaimed ? [...others, { ...permitted, until }] : others
}
