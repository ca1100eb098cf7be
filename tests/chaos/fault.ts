import { groupBy } from '../support/group-by.ts'
import type { ProviderCall } from './behaviours.ts'
import type { Comparison } from './ledgers.ts'
import type { Phase, PhaseRow } from './phase.ts'

/** How often and how long the faults strike. Grows with the number of sends. */
export interface Scale {
  workerKills: number
  apiKills: number
  restarts: number
  /** Sends that are scheduled for one second. */
  dueTogether: number
  /** Sends that are canceled at their moment. */
  cancels: number
  keys: number
  requestsPerKey: number
  /** How long a store is under load. */
  storeSeconds: number
  /** How long PostgreSQL is away while receipts come. */
  outageSeconds: number
  /** Longer than a worker's lease and its lock on a job. */
  freezeSeconds: number
  /** How often the master that Sentinels watch is struck. */
  failovers: number
  /** How long all Sentinels and their Redis are away. */
  awaySeconds: number
}

/** The results of a phase. */
export interface Findings {
  rows: readonly PhaseRow[]
  comparison: Comparison
  slowestRecoveryMs: number | undefined
  slowestAnswerMs: number
}

export interface Fault {
  name: string
  /**
   * Its sends, as a share of the number that is asked for; 0 if the scale says how many, or if it loads for as long as it takes.
   * The shares of all faults but `receipts`, `callbacks`, `fallbacks` and `suppressions` add up to 1: their sends come on top.
   */
  share: number
  times(scale: Scale): number
  /** Sends the phase's messages, and strikes meanwhile. */
  strike(phase: Phase, scale: Scale): Promise<void>
  /** Whether a send may end `failed`, if the ledgers confirm it. By default none may. */
  mayFail?(phase: Phase, row: PhaseRow): boolean
  /** Violations of the fault's own criteria, in addition to those of all faults: lost or doubled sends, and refused clients. */
  reach(phase: Phase, findings: Findings, scale: Scale): string[]
}

export function violation(isViolated: boolean, what: string): string[] {
  return isViolated ? [what] : []
}

const byTime = 'too late: '

/** A violated time limit, which may also be caused by a machine that stood still. */
export function lateness(isViolated: boolean, what: string): string[] {
  return violation(isViolated, byTime + what)
}

export function isOfTime(violation: string): boolean {
  return violation.startsWith(byTime)
}

/** A provider of ours that answers later than the worker waits makes a send uncertain, too: on a machine that is too slow. */
export function uncertainAtAll(
  { provider }: { provider: { calls: readonly Pick<ProviderCall, 'requestId' | 'answeredAt'>[] } },
  { rows }: { rows: readonly Pick<PhaseRow, 'requestId' | 'status' | 'failure' | 'finishedAt'>[] },
): string[] {
  const callsOf = groupBy(provider.calls, ({ requestId }) => requestId)
  const isAnsweredLate = ({ requestId, failure, finishedAt = 0 }: (typeof rows)[number]) =>
    failure?.endsWith('in time') &&
    callsOf.get(requestId)?.every(({ answeredAt = Infinity }) => answeredAt > finishedAt)
  const uncertain = rows.filter(({ status }) => status === 'uncertain')
  const late = uncertain.filter(isAnsweredLate)
  const others = uncertain.filter((row) => !isAnsweredLate(row))
  const reasons = [...new Set(others.map(({ failure }) => failure))].join('; ')
  return [
    ...lateness(late.length > 0, `the provider answered ${late.length} calls only after their time limit`),
    ...violation(others.length > 0, `${others.length} sends are uncertain: ${reasons}`),
  ]
}

/** The violations of some sends, by their ids. */
export function violationsOf(rows: readonly PhaseRow[], what: string): string[] {
  return rows.map(({ requestId, status, attempt }) => `${requestId} (${status}, attempt ${attempt}): ${what}`)
}
