import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { latenciesOf, p99 } from '../latency.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { startWarmWorker } from '../warm-up.ts'
import type { Case } from './case.ts'
import { isUndisturbed, undisturbed } from './undisturbed.ts'

const accounts = 20
const timesItsShare = 10

/** Each account has its share of the load, which is within capacity without the flood. */
export const flood: Case = {
  name: 'flood',
  reach: undisturbed,
  async measure(stage, { runs, sizes, load, print }) {
    const [flooding, ...others] = await openChannels(await openAccounts(stage, accounts), '/accept/flood')
    const share = load / accounts
    const without: Figure = { variant: 'without', unit: ' ms', values: [] }
    const disturbed: Figure = { variant: 'with', unit: ' ms', values: [] }
    const measure = async ({ variant, values }: Figure, times: number) => {
      const loads = [
        ...others.map((sender) => ({ sender, perSecond: share })),
        ...(flooding ? [{ sender: flooding, perSecond: share * times }] : []),
      ]
      const latencies = await latenciesOf(stage, loads, sizes.seconds)
      values.push(p99(latencies.slice(0, others.length).flat()))
      print(`flood: ${variant}: ${values.at(-1)?.toFixed(1)} ms`)
    }
    await startWarmWorker(stage)
    await alternate(runs, [() => measure(without, 1), () => measure(disturbed, timesItsShare)])
    return {
      measured: `p99 from 202 to provider of ${others.length} accounts at ${share.toFixed(0)}/s each, one more sending ${timesItsShare} times that`,
      figures: [without, disturbed],
      isReached: isUndisturbed(without, disturbed),
    }
  },
}
