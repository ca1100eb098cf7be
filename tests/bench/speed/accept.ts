import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { openWrk, type WrkResult } from '../wrk.ts'
import type { Case } from './case.ts'
import { ratio } from './ratio.ts'
import { warmUpSeconds } from './sizes.ts'

const connections = 64
/** Number of clients behind one connection: enough that its sends of one measurement stay within their quotas. */
const accountsOfOne = 300
const variants = { service: 'api', usual: 'usualApi', echo: 'echo', recordless: 'recordlessApi' } as const

type Variant = keyof typeof variants

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
      const load = async (name: Variant, at: number, seconds = sizes.seconds): Promise<WrkResult> => {
        await stage.clear()
        const some = at === 1 ? senders.slice(0, accountsOfOne) : senders
        return await wrk({ url: urls.get(name) ?? '', senders: some, connections: at, seconds })
      }
      for (const name of names) await load(name, connections, warmUpSeconds)

      const figures = (unit: string): Record<Variant, Figure> => ({
        service: { variant: 'this', unit, values: [] },
        usual: { variant: 'usual', unit, values: [] },
        echo: { variant: 'echo', unit, values: [] },
        recordless: { variant: 'without', unit, values: [] },
      })
      const crowd = figures('/s')
      const alone = figures(' ms')
      const many = (name: Variant) => async () => {
        const { perSecond, p50Ms, p99Ms } = await load(name, connections)
        crowd[name].values.push(perSecond)
        print(`accept: ${name}: ${perSecond.toFixed(0)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`)
      }
      const one = (name: Variant) => async () => {
        const { p50Ms } = await load(name, 1)
        alone[name].values.push(p50Ms)
        print(`accept: ${name}: one connection: p50 ${p50Ms} ms`)
      }
      await alternate(runs, [...names.map(many), one('service'), one('usual')])
      return [
        ratio('accept', 'this ÷ usual, 64 connections', {
          of: crowd.service,
          to: crowd.usual,
          floor: 3.5,
          aim: 6,
        }),
        ratio('accept', 'this ÷ echo', { of: crowd.service, to: crowd.echo, floor: 0.22, aim: 0.33 }),
        ratio('accept', 'p50, one connection: this ÷ usual', {
          of: alone.service,
          to: alone.usual,
          floor: 0.85,
          aim: 0.7,
        }),
        ratio('accept', 'with its record ÷ without', {
          of: crowd.service,
          to: crowd.recordless,
          floor: 0.75,
          aim: 0.85,
        }),
      ]
    } finally {
      await stage.close()
    }
  },
}
