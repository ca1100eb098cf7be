import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { latenciesOf, p99 } from '../latency.ts'
import { inTurn } from '../senders.ts'
import { startWarmWorker } from '../warm-up.ts'
import type { Case } from './case.ts'
import { isUndisturbed, undisturbed } from './undisturbed.ts'

/** So long that the first hanging calls time out during the measurement. */
const timesAsLong = 2

export const hung: Case = {
  name: 'hung',
  reach: `each ${undisturbed}`,
  async measure(stage, { runs, sizes, load, print }) {
    const [account, other] = [await stage.openAccount(), await stage.openAccount()]
    const hanging = await account.openChannel('/hang/hung')
    const senders = [await account.openChannel('/accept/same'), await other.openChannel('/accept/other')]
    const figure = (variant: string): Figure => ({ variant, unit: ' ms', values: [] })
    const without = [
      figure('channel of the same account: alone'),
      figure('channel of another account: alone'),
    ] as const
    const disturbed = [figure('the same: beside'), figure('the same: beside')] as const
    const measure = async (figures: readonly Figure[]) => {
      const loads = senders.map((sender) => ({ sender, perSecond: load / senders.length }))
      const latencies = await latenciesOf(stage, loads, sizes.seconds * timesAsLong)
      for (const [index, { variant, values }] of figures.entries()) {
        values.push(p99(latencies[index] ?? []))
        print(`hung: channel ${index + 1}, ${variant}: ${values.at(-1)?.toFixed(1)} ms`)
      }
    }
    await alternate(runs, [
      async () => {
        await startWarmWorker(stage)
        await measure(without)
      },
      async () => {
        await stage.client.postAll(inTurn([hanging], sizes.hung))
        await measure(disturbed)
      },
    ])
    return {
      measured: `p99 from 202 to provider of two channels at ${(load / 2).toFixed(0)}/s each, alone, and beside ${sizes.hung.toLocaleString('en')} sends on a third that hangs`,
      figures: [without[0], disturbed[0], without[1], disturbed[1]],
      isReached: isUndisturbed(without[0], disturbed[0]) && isUndisturbed(without[1], disturbed[1]),
    }
  },
}
