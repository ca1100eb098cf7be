import { alternate } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { openStage } from '../stage.ts'
import { dispatch as dispatchAll } from '../throughput.ts'
import type { Case } from './case.ts'
import { atMost, ratio } from './ratio.ts'

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
        const { perSecond, cpuMicros } = await dispatchAll(stage, posts, { program })
        figure.values.push(perSecond)
        if (figure === service) cpu.values.push(cpuMicros)
        print(
          `dispatch: ${figure.variant}: ${perSecond.toFixed(0)}/s, ${cpuMicros.toFixed(0)} µs of all processes each`,
        )
      }
      const service: Figure = { variant: 'this', unit: '/s', values: [] }
      const bare: Figure = { variant: 'bare', unit: '/s', values: [] }
      const usual: Figure = { variant: 'usual', unit: '/s', values: [] }
      const cpu: Figure = { variant: 'all processes', unit: ' µs', values: [] }
      await alternate(runs, [
        measure(service, 'worker'),
        measure(bare, 'bareWorker'),
        measure(usual, 'usualWorker'),
      ])
      return [
        ratio('dispatch', 'this ÷ BullMQ and undici with no record', {
          of: service,
          to: bare,
          floor: 0.45,
          aim: 0.55,
        }),
        ratio('dispatch', 'this ÷ usual', { of: service, to: usual, floor: 4, aim: 5 }),
        atMost('dispatch', 'CPU of a dispatch', cpu, { floor: 370, aim: 300 }),
      ]
    } finally {
      await stage.close()
    }
  },
}
