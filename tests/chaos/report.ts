import { markdownTable } from '../support/table.ts'
import type { Result } from './run.ts'

const maxListed = 20

/** The table of faults in Markdown, followed by the violations. */
export function report(results: readonly Result[]): string {
  const head = [
    'fault',
    'times',
    'accepted',
    'lost',
    'doubled',
    'uncertain',
    'slowest recovery',
    'slowest answer',
    'met',
  ]
  const table = markdownTable(head, results.map(cells))
  const allNotes = results.flatMap(({ fault, notes }) => notes.map((note) => `${fault}: ${note}`))
  const violations = results.filter((result) => result.violations.length > 0).map(listed)
  return [table, allNotes.join('\n'), ...violations].filter((part) => part !== '').join('\n\n')
}

function cells(result: Result): string[] {
  const { fault, times, accepted, lost, doubled, uncertain, violations } = result
  return [
    fault,
    ...[times, accepted, lost, doubled, uncertain].map(String),
    recovery(result),
    seconds(result.slowestAnswerMs),
    violations.length === 0 ? 'yes' : 'no',
  ]
}

function recovery({ slowestRecoveryMs }: Result): string {
  if (slowestRecoveryMs === undefined) return '–'
  return Number.isFinite(slowestRecoveryMs) ? seconds(slowestRecoveryMs) : 'never'
}

function listed({ fault, violations }: Result): string {
  const more = violations.length > maxListed ? [`  … and ${violations.length - maxListed} more`] : []
  return [`${fault}:`, ...violations.slice(0, maxListed).map((what) => `  ${what}`), ...more].join('\n')
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
