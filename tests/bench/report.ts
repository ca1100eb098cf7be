import { markdownTable } from '../support/table.ts'
import type { Findings } from './benchmark.ts'
import { inWords } from './figures.ts'

/** Shows each figure as its median over the runs, with the lowest and the highest. */
export function report(findings: readonly Findings[]): string {
  const rows = findings
    .flatMap(({ results }) => results)
    .map(({ case: name, measured, figures, reach, isReached, isAimReached }) => [
      name,
      measured,
      figures.map(inWords).join('<br>'),
      reach ?? '–',
      isReached === undefined ? '–' : isAimReached ? 'aim' : isReached ? 'yes' : 'no',
    ])
  const table = markdownTable(['case', 'measured', 'figures', 'target', 'met'], rows)
  const charts = findings.flatMap((one) => one.charts ?? [])
  return [...findings.map(({ conditions }) => conditions), table, ...charts].join('\n\n')
}
