import { alternate } from '../benchmark.ts'
import { measureCapacity } from '../capacity.ts'
import { type Figure, percentile } from '../figures.ts'
import { latenciesOf, p99 } from '../latency.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'
import type { Case } from './case.ts'
import { atMost } from './ratio.ts'

/** Enough accounts that none exceeds its quota, even if a worker pauses for a moment. */
const accounts = 200
const part = 1 / 3

/** The time from a 202 to the provider, at a load that one API and one worker handle without a queue. */
export const latency: Case = {
  name: 'latency',
  async measure({ runs, sizes, print }) {
    const { dispatch, whole } = await measureCapacity(sizes.accounts * sizes.sendsOfEach, {
      accounts: sizes.accounts,
    })
    const perSecond = Math.min(dispatch, whole) * part
    print(
      `latency: ${dispatch.toFixed(0)}/s dispatched, ${whole.toFixed(0)}/s accepted and dispatched: ${perSecond.toFixed(0)}/s`,
    )
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, accounts), '/accept/latency')
      const loads = senders.map((sender) => ({ sender, perSecond: perSecond / accounts }))
      const middle: Figure = { variant: 'p50', unit: ' ms', values: [] }
      const slow: Figure = { variant: 'p99', unit: ' ms', values: [] }
      await startWarmWorker(stage)
      await alternate(runs, [
        async () => {
          const latencies = (await latenciesOf(stage, loads, sizes.steadySeconds)).flat()
          middle.values.push(percentile(latencies, 0.5))
          slow.values.push(p99(latencies))
          print(
            `latency: of ${latencies.length} sends p50 ${middle.values.at(-1)?.toFixed(1)} ms, p99 ${slow.values.at(-1)?.toFixed(1)} ms`,
          )
        },
      ])
      const measured = `from 202 to provider at ${perSecond.toFixed(0)}/s, a third of what it can do`
      return [
        atMost('latency', measured, middle, { floor: 10, aim: 5 }),
        atMost('latency', measured, slow, { floor: 80, aim: 30 }),
      ]
    } finally {
      await stage.close()
    }
  },
}
