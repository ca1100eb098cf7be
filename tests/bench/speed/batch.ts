import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { openWrk } from '../wrk.ts'
import type { Case } from './case.ts'
import { ratio } from './ratio.ts'
import { warmUpSeconds } from './sizes.ts'

const single = { connections: 64, messages: 1 }
const batches = { connections: 8, messages: 100 }

/** Sends accepted in batches of 100, compared with single ones. */
export const batch: Case = {
  name: 'batch',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, sizes.accounts), '/accept/speed')
      const wrk = openWrk(stage.folder)
      const load = async (way: typeof single, seconds = sizes.seconds) => {
        await stage.clear()
        const { perSecond } = await wrk({ url: stage.api.url, senders, ...way, seconds })
        return perSecond * way.messages
      }
      for (const way of [single, batches]) await load(way, warmUpSeconds)
      const figures: Record<'singles' | 'batches', Figure> = {
        singles: { variant: 'single', unit: ' sends/s', values: [] },
        batches: { variant: 'batches', unit: ' sends/s', values: [] },
      }
      const measured = (way: typeof single, figure: Figure) => async () => {
        figure.values.push(await load(way))
        print(`batch: ${figure.variant}: ${figure.values.at(-1)?.toFixed(0)} sends/s`)
      }
      await alternate(runs, [measured(single, figures.singles), measured(batches, figures.batches)])
      const words = `batches of ${batches.messages}, ${batches.connections} connections ÷ single, ${single.connections}`
      return [ratio('batch', words, { of: figures.batches, to: figures.singles, floor: 2.5, aim: 3 })]
    } finally {
      await stage.close()
    }
  },
}
