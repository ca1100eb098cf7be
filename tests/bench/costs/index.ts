import { alternate, type Benchmark, type BenchmarkOptions, type Result } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { atMost, ratio } from '../speed/ratio.ts'
import { type Cost, costs as names, units } from './cost.ts'
import { full, type Load, type Measured, measureStore, quick } from './measure-store.ts'
import { processes } from './processes.ts'

/** By the masters of a Cluster, with as many shards; 1: one Redis. */
const stores = { 1: 'redis', 3: 'redis3', 6: 'redis6' } as const
type Masters = keyof typeof stores
const manyMasters = [3, 6] as const

/** What one send costs each process and store, at a steady load: the input of `npm run bench -- plan`. */
export const costs: Benchmark = {
  names: ['costs', 'processes'],
  async run(options) {
    const load = options.isQuick ? quick : full
    const results: Result[] = []
    if (options.isChosen('costs')) results.push(...(await measureCosts(options, load)))
    if (options.isChosen('processes')) results.push(await processes(options))
    return { conditions: `texts at ${load.perSecond}/s, accepted and sent, all on this machine`, results }
  },
}

async function measureCosts({ runs, print }: BenchmarkOptions, load: Load): Promise<Result[]> {
  const figureOf = (variant: string, unit: string): Figure => ({ variant, unit, values: [] })
  const figures = Object.fromEntries(names.map((name) => [name, figureOf(name, units[name])])) as Record<
    Cost,
    Figure
  >
  const busiest = { 3: figureOf('busiest ÷ mean', ''), 6: figureOf('busiest ÷ mean', '') }
  const measure = (masters: Masters) => async () => {
    const measured = await measureStore(masters, load)
    figures[stores[masters]].values.push(measured.redis)
    if (masters === 1) addOthers(figures, measured)
    else busiest[masters].values.push(measured.busiest)
    const shown = Object.entries(measured).map(([name, value]) => `${name} ${value.toFixed(2)}`)
    print(`costs: ${masters === 1 ? 'one Redis' : `${masters} masters`}: ${shown.join(', ')}`)
  }
  await alternate(runs, [measure(1), measure(3), measure(6)])
  return [
    ...names.map((name) => ({ case: 'costs', measured: 'of a send', figures: [figures[name]] })),
    ...manyMasters.map((masters) =>
      ratio('shards', `Redis' CPU of a send: ${masters} masters ÷ one Redis`, {
        of: { ...figures[stores[masters]], variant: `${masters} masters` },
        to: { ...figures.redis, variant: 'one' },
        ...{ 3: { floor: 1.4, aim: 1.3 }, 6: { floor: 1.6, aim: 1.4 } }[masters],
      }),
    ),
    ...manyMasters.map((masters) =>
      atMost('shards', `the busiest of ${masters} masters`, busiest[masters], { floor: 1.15, aim: 1.05 }),
    ),
  ]
}

function addOthers(figures: Record<Cost, Figure>, measured: Measured): void {
  for (const name of ['api', 'worker', 'postgres', 'wal', 'disk', 'trim', 'trimWal'] as const)
    figures[name].values.push(measured[name])
}
