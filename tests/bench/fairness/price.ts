import { alternate } from '../benchmark.ts'
import { type Figure, median } from '../figures.ts'
import type { Sender } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import type { Stage } from '../stage.ts'
import { dispatchThroughput } from '../throughput.ts'
import type { Case } from './case.ts'

const part = 0.9

/** Many accounts with few sends each, all to different contacts, so that no send has to wait for another. */
export const price: Case = {
  name: 'price',
  reach: `at least ${part} x that without both`,
  async measure(stage, { runs, sizes, print }) {
    const { accounts, sends } = sizes.price
    const tenants = await openAccounts(stage, accounts)
    const ordered = await openChannels(tenants, '/accept/price')
    const plain = await openChannels(tenants, '/accept/price')
    await takeOutLanes(stage, plain)
    const without: Figure = { variant: 'without lanes and fairness', unit: '/s', values: [] }
    const both: Figure = { variant: 'with', unit: '/s', values: [] }
    const measure = async (
      { variant, values }: Figure,
      senders: readonly Sender[],
      program: 'worker' | 'plainWorker',
    ) => {
      values.push(await dispatchThroughput(stage, inTurn(senders, sends), { program }))
      print(`price: ${variant}: ${values.at(-1)?.toFixed(0)}/s`)
    }
    await alternate(runs, [
      () => measure(without, plain, 'plainWorker'),
      () => measure(both, ordered, 'worker'),
    ])
    return {
      measured: `sends per second, of ${accounts.toLocaleString('en')} accounts with ${sends} sends each`,
      figures: [without, both],
      isReached: median(both.values) >= part * median(without.values),
    }
  },
}

async function takeOutLanes({ db }: Stage, senders: readonly Sender[]): Promise<void> {
  const ids = senders.map(({ channelId }) => channelId)
  await db.$client.query(`update channels set ordering = 'none' where id = any($1)`, [ids])
}
