import { alternate } from '../benchmark.ts'
import { cpuSeconds } from '../cpu-time.ts'
import type { Figure } from '../figures.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { openWrk, type WrkResult } from '../wrk.ts'
import type { Case } from './case.ts'
import { atMost, ratio } from './ratio.ts'
import { warmUpSeconds } from './sizes.ts'

const connections = 64
/** Enough connections to fill the batches, however long a single one waits. */
const manyConnections = 256
/** Number of clients behind one connection: enough that its sends of one measurement stay within their quotas. */
const accountsOfOne = 300
const variants = { service: 'api', usual: 'usualApi', echo: 'echo', recordless: 'recordlessApi' } as const

type Variant = keyof typeof variants

interface Loaded extends WrkResult {
  /** CPU of all processes, for each request. */
  cpuMicros: number
}

/** The throughput of an API without a worker: this one, the usual one, a bare echo, and this one without its record. */
export const accept: Case = {
  name: 'accept',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, sizes.accounts), '/accept/speed')
      const wrk = openWrk(stage.folder)
      const names = Object.keys(variants) as Variant[]
      const urls = new Map<Variant, string>()
      for (const name of names) urls.set(name, (await stage.startApi(variants[name])).url)
      const load = async (name: Variant, at: number, seconds = sizes.seconds): Promise<Loaded> => {
        await stage.clear()
        const some = at === 1 ? senders.slice(0, accountsOfOne) : senders
        const before = await cpuSeconds()
        const result = await wrk({ url: urls.get(name) ?? '', senders: some, connections: at, seconds })
        const cpuMicros = (((await cpuSeconds()) - before) * 1e6) / (result.perSecond * seconds)
        return { ...result, cpuMicros }
      }
      for (const name of names) await load(name, connections, warmUpSeconds)

      const figures = (unit: string): Record<Variant, Figure> => ({
        service: { variant: 'this', unit, values: [] },
        usual: { variant: 'usual', unit, values: [] },
        echo: { variant: 'echo', unit, values: [] },
        recordless: { variant: 'without', unit, values: [] },
      })
      const crowd = figures('/s')
      const largeCrowd = figures('/s')
      const cpu = figures(' µs')
      const alone = figures(' ms')
      const many = (name: Variant, at: number, rates: typeof crowd) => async () => {
        const { perSecond, p50Ms, p99Ms, cpuMicros } = await load(name, at)
        rates[name].values.push(perSecond)
        if (at === connections) cpu[name].values.push(cpuMicros)
        print(
          `accept: ${name}: ${at} connections: ${perSecond.toFixed(0)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms, ${cpuMicros.toFixed(0)} µs of all processes each`,
        )
      }
      const one = (name: Variant) => async () => {
        const { p50Ms } = await load(name, 1)
        alone[name].values.push(p50Ms)
        print(`accept: ${name}: one connection: p50 ${p50Ms} ms`)
      }
      await alternate(runs, [
        ...names.map((name) => many(name, connections, crowd)),
        many('service', manyConnections, largeCrowd),
        many('usual', manyConnections, largeCrowd),
        one('service'),
        one('usual'),
      ])
      return [
        ratio('accept', `this ÷ usual, ${manyConnections} connections`, {
          of: largeCrowd.service,
          to: largeCrowd.usual,
          floor: 3,
          aim: 4,
        }),
        atMost(
          'accept',
          'CPU of an accept',
          { ...cpu.service, variant: 'all processes' },
          { floor: 230, aim: 190 },
        ),
        ratio('accept', `this ÷ usual, ${connections} connections`, { of: crowd.service, to: crowd.usual }),
        ratio('accept', 'this ÷ echo', { of: crowd.service, to: crowd.echo }),
        ratio('accept', 'p50, one connection: this ÷ usual', {
          of: alone.service,
          to: alone.usual,
          floor: 0.85,
          aim: 0.7,
        }),
        ratio('accept', 'with its record ÷ without', { of: crowd.service, to: crowd.recordless }),
      ]
    } finally {
      await stage.close()
    }
  },
}
