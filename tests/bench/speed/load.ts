import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { openWrk } from '../wrk.ts'
import type { Case } from './case.ts'
import { warmUpSeconds } from './sizes.ts'

const connections = [1, 2, 4, 8, 16, 32, 64, 128, 256]
const warmUp = { connections: 64, seconds: warmUpSeconds }

/** Throughput and latency of an API with more and more connections, for a chart without a criterion. */
export const load: Case = {
  name: 'load',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, sizes.accounts), '/accept/speed')
      const wrk = openWrk(stage.folder)
      const { url } = stage.api
      await wrk({ url, senders, ...warmUp })
      const points = connections.map((count) => ({
        count,
        throughput: { variant: `${count}`, unit: '/s', values: [] } as Figure,
        p50: { variant: `${count} p50`, unit: ' ms', values: [] } as Figure,
        p99: { variant: `${count} p99`, unit: ' ms', values: [] } as Figure,
      }))
      const measure =
        ({ count, throughput, p50, p99 }: (typeof points)[number]) =>
        async () => {
          await stage.clear()
          const { perSecond, p50Ms, p99Ms } = await wrk({
            url,
            senders,
            connections: count,
            seconds: sizes.seconds,
          })
          throughput.values.push(perSecond)
          p50.values.push(p50Ms)
          p99.values.push(p99Ms)
          print(`load: ${count} connections: ${perSecond.toFixed(0)}/s, p50 ${p50Ms} ms, p99 ${p99Ms} ms`)
        }
      await alternate(runs, points.map(measure))
      const figures = points.flatMap(({ throughput, p50, p99 }) => [throughput, p50, p99])
      return [{ case: 'load', measured: 'accepted, by connections', figures }]
    } finally {
      await stage.close()
    }
  },
}
