import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { dispatchThroughput } from '../throughput.ts'
import type { Case } from './case.ts'
import { ratio } from './ratio.ts'

/** The throughput of one worker with a provider that answers at once: this one, BullMQ and HTTP alone, the usual one. */
export const dispatch: Case = {
  name: 'dispatch',
  async measure({ runs, sizes, print }) {
    const stage = await openStage()
    try {
      const accounts = await openAccounts(stage, sizes.accounts)
      const senders = await openChannels(accounts, '/accept/speed', sizes.channelsOfEach)
      const measure = (figure: Figure, program: 'worker' | 'bareWorker' | 'usualWorker') => async () => {
        const posts = inTurn(senders, sizes.sendsOfEach)
        figure.values.push(await dispatchThroughput(stage, posts, { program }))
        print(`dispatch: ${figure.variant}: ${figure.values.at(-1)?.toFixed(0)}/s`)
      }
      const service: Figure = { variant: 'this', unit: '/s', values: [] }
      const bare: Figure = { variant: 'bare', unit: '/s', values: [] }
      const usual: Figure = { variant: 'usual', unit: '/s', values: [] }
      await alternate(runs, [
        measure(service, 'worker'),
        measure(bare, 'bareWorker'),
        measure(usual, 'usualWorker'),
      ])
      return [
        ratio('dispatch', 'this ÷ BullMQ and undici with no record', {
          of: service,
          to: bare,
          floor: 0.7,
          aim: 0.85,
        }),
        ratio('dispatch', 'this ÷ usual', { of: service, to: usual, floor: 4.5, aim: 6 }),
      ]
    } finally {
      await stage.close()
    }
  },
}
