import { alternate, type Benchmark, type BenchmarkOptions, type Result } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { atMost, ratio } from '../speed/ratio.ts'
import { openStage, type Stage } from '../stage.ts'
import { full as idleFor, quick as idleForShort, idlePercent } from './idle.ts'
import { full, quick, redisMicros } from './redis-cpu.ts'
import { disconnect, oneRedis, openCluster, type Store } from './stores.ts'

/** Most of the Redis CPU of a send, relative to one Redis; of a master's, relative to the mean of all. */
const bounds = {
  3: { floor: 1.4, aim: 1.3 },
  6: { floor: 1.6, aim: 1.4 },
  busiest: { floor: 1.15, aim: 1.05 },
}
const ofIdleCore = { floor: 2, aim: 1 }

/** What shards cost: Redis' CPU time for a send, and that of a worker that has nothing to do. */
export const shards: Benchmark = {
  names: ['redis-cpu', 'idle'],
  async run(options) {
    const results: Result[] = []
    if (options.isChosen('redis-cpu')) results.push(...(await measureRedis(options)))
    if (options.isChosen('idle')) results.push(...(await measureIdle(options)))
    return { conditions: "Redis' own count of its CPU time; the kernel's of a worker's", results }
  },
}

async function measureRedis(options: BenchmarkOptions): Promise<Result[]> {
  const stage = await openStage()
  const clusters = await Promise.all([openCluster(3), openCluster(6)])
  try {
    const stores = [...[1, 3, 6].map((count) => oneRedis(stage, count)), ...clusters]
    return await measureStores(stage, stores, options)
  } finally {
    clusters.forEach(disconnect)
    await stage.close()
  }
}

async function measureStores(
  stage: Stage,
  stores: readonly Store[],
  { runs, isQuick, print }: BenchmarkOptions,
): Promise<Result[]> {
  const measured = stores.map((store) => ({
    store,
    cpu: { variant: store.name, unit: ' µs', values: [] as number[] },
    busiest: { variant: store.name, unit: '', values: [] as number[] },
  }))
  const measure = ({ store, cpu, busiest }: (typeof measured)[number]) => {
    return async () => {
      const micros = await redisMicros(stage, store, isQuick ? quick : full)
      const all = micros.reduce((sum, some) => sum + some, 0)
      cpu.values.push(all)
      busiest.values.push((Math.max(...micros) * micros.length) / all)
      print(`shards: ${store.name}: ${micros.map((one) => one.toFixed(1)).join(' + ')} µs of Redis a send`)
    }
  }
  await alternate(runs, measured.map(measure))
  const to: Figure = { variant: 'one Redis', unit: ' µs', values: measured[0]?.cpu.values ?? [] }
  return measured.slice(1).flatMap(({ store: { nodes }, cpu, busiest }) => {
    const compared = { of: cpu, to }
    if (nodes.length === 1) return [ratio('redis-cpu', "Redis' CPU time of a send", compared)]
    const bound = bounds[nodes.length as 3 | 6]
    return [
      ratio('redis-cpu', "Redis' CPU time of a send", { ...compared, ...bound }),
      atMost('redis-cpu', 'busiest master ÷ mean of all', busiest, bounds.busiest),
    ]
  })
}

async function measureIdle({ runs, isQuick, print }: BenchmarkOptions): Promise<Result[]> {
  const measured = [1, 3, 6].map((masters) => {
    const variant = masters === 1 ? 'one Redis' : `${masters} masters and shards`
    return { masters, idle: { variant, unit: ' %', values: [] as number[] } }
  })
  const measure =
    ({ masters, idle }: (typeof measured)[number]) =>
    async () => {
      const percent = await idlePercent(masters, isQuick ? idleForShort : idleFor)
      idle.values.push(percent)
      print(`shards: ${idle.variant}: an idle worker uses ${percent.toFixed(1)} % of a core`)
    }
  await alternate(runs, measured.map(measure))
  return measured.map(({ idle }) => atMost('idle', 'an idle worker, of a core', idle, ofIdleCore))
}
