import { readFile } from 'node:fs/promises'
import { markdownTable } from '../../support/table.ts'
import type { Findings } from '../benchmark.ts'
import { type Costs, costs as names, units } from '../costs/cost.ts'
import { median } from '../figures.ts'
import { assumed, cellCarries, grow, type Limit, plan } from './model.ts'

/** @returns the medians of what `npm run bench -- costs --out FILE` wrote. */
export async function readCosts(file: string): Promise<Costs> {
  const { findings } = JSON.parse(await readFile(file, 'utf8')) as { findings: Findings[] }
  const figures = findings.flatMap(({ results }) => results).flatMap((result) => result.figures)
  const costOf = (name: string) => median(figures.find(({ variant }) => variant === name)?.values ?? [])
  const missing = names.filter((name) => !(costOf(name) > 0))
  if (missing.length > 0) throw new Error(`${file} has no cost of ${missing.join(', ')}`)
  return Object.fromEntries(names.map((name) => [name, costOf(name)])) as Costs
}

const shown = (value: number, digits = 0) => value.toLocaleString('en', { maximumFractionDigits: digits })

/** The costs, what each of these loads needs and what breaks first beyond it, and what breaks on the way. */
export function planAsText(costs: Costs, rates: readonly number[]): string {
  return [
    'What a send costs:',
    markdownTable(names, [names.map((name) => `${shown(costs[name])}${units[name]}`)]),
    `What each load needs, with ${assumed.busy * 100} % of each core in use; from APIs to days: each cell`,
    planTable(costs, rates),
    `What breaks as the load on one cell rises, up to ${shown(cellCarries(costs))} sends/s:`,
    growthTable(costs),
  ].join('\n\n')
}

function planTable(costs: Costs, rates: readonly number[]): string {
  const sizes = [
    'APIs',
    'workers',
    'Redis',
    'PostgreSQL',
    'its log',
    `days in ${assumed.diskBytes / 1e12} TB`,
  ]
  const rows = rates.map((rate) => {
    const { cells, cell, machines, postgresCores, walMegabytes, days, weakest } = plan(rate, costs)
    return [
      shown(rate),
      shown(cells),
      shown(machines),
      shown(cell.apis),
      shown(cell.workers),
      cell.masters === 1 ? 'one' : `Cluster of ${cell.masters}`,
      `${shown(postgresCores)} cores${cell.hasPooler ? ', PgBouncer' : ''}`,
      `${shown(walMegabytes, 1)} MB/s`,
      shown(days, 1),
      `${weakest.what}, at ${shown(cells * weakest.carries)}/s`,
    ]
  })
  return markdownTable(['sends/s', 'cells', 'machines', ...sizes, 'breaks first'], rows)
}

/** Of what is added again and again, the first time. */
function growthTable(costs: Costs): string {
  const { passed, weakest } = grow(Number.POSITIVE_INFINITY, costs)
  const first = new Map<string, Limit>()
  for (const limit of [...passed, weakest]) if (!first.has(limit.remedy)) first.set(limit.remedy, limit)
  const rows = [...first.values()].map(({ what, carries, remedy }) => [what, `${shown(carries)}/s`, remedy])
  return markdownTable(['breaks', 'at', 'remedy'], rows)
}
