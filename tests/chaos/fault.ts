import type { Comparison } from './ledgers.ts'
import type { Phase, PhaseRow } from './phase.ts'

/** How often and how long the faults strike; it grows with the number of sends. */
export interface Scale {
  workerKills: number
  apiKills: number
  restarts: number
  keys: number
  requestsPerKey: number
  /** How long a store is under load. */
  storeSeconds: number
  /** Longer than a worker's lease and its lock on a job. */
  freezeSeconds: number
}

/** What the ledgers say after a phase. */
export interface Findings {
  rows: readonly PhaseRow[]
  comparison: Comparison
  slowestRecoveryMs: number | undefined
  slowestAnswerMs: number
}

export interface Fault {
  name: string
  /** Its part of all sends; the parts of all faults make 1. */
  share: number
  times(scale: Scale): number
  /** Makes the phase's sends, and strikes meanwhile. */
  strike(phase: Phase, scale: Scale): Promise<void>
  /** Whether a send may end `failed`, where the ledgers bear that out. Unless told otherwise none may. */
  mayFail?(phase: Phase, row: PhaseRow): boolean
  /** What is not as it has to be, in words, beyond what no fault may do: lose or double a send, or refuse a client. */
  reach(phase: Phase, findings: Findings, scale: Scale): string[]
}

export function violation(isViolated: boolean, what: string): string[] {
  return isViolated ? [what] : []
}

const byTime = 'too late: '

/** Of a bound in time, which a machine that stood still breaks as well. */
export function lateness(isViolated: boolean, what: string): string[] {
  return violation(isViolated, byTime + what)
}

export function isOfTime(violation: string): boolean {
  return violation.startsWith(byTime)
}

export function uncertainAtAll({ comparison }: Findings): string[] {
  return violation(comparison.uncertain > 0, `${comparison.uncertain} sends are uncertain`)
}

/** Names some of the sends that are not as they have to be. */
export function violationsOf(rows: readonly PhaseRow[], what: string): string[] {
  return rows.map(({ requestId, status, attempt }) => `${requestId} (${status}, attempt ${attempt}): ${what}`)
}
