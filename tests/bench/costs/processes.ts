import { alternate, type BenchmarkOptions, type Result } from '../benchmark.ts'
import type { Figure } from '../figures.ts'
import { openClient } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { ratio } from '../speed/ratio.ts'
import { openStage, type Stage } from '../stage.ts'
import { throughputOfAll } from '../throughput.ts'

const full = { accounts: 500, sendsOfEach: 15 }
const quick = { accounts: 200, sendsOfEach: 10 }

/** Whether processes stand in each other's way: two APIs and two workers on the machine, in place of one of each. */
export async function processes({ runs, isQuick, print }: BenchmarkOptions): Promise<Result> {
  const { accounts, sendsOfEach } = isQuick ? quick : full
  const stage = await openStage()
  const other = openClient((await stage.startApi('api')).url)
  try {
    const senders = await openChannels(await openAccounts(stage, accounts), '/accept/processes')
    const one: Figure = { variant: 'one of each', unit: '/s', values: [] }
    const two: Figure = { variant: 'two', unit: '/s', values: [] }
    const measure = (figure: Figure, of: Stage, workers: number) => async () => {
      figure.values.push(await throughputOfAll(of, inTurn(senders, sendsOfEach), workers))
      print(`processes: ${figure.variant}: ${figure.values.at(-1)?.toFixed(0)}/s`)
    }
    const both = { ...stage, client: { ...stage.client, postAll: inHalves(stage.client, other) } }
    await alternate(runs, [measure(one, stage, 1), measure(two, both, 2)])
    return ratio('processes', 'two APIs and two workers ÷ one of each', {
      of: two,
      to: one,
      floor: 0.95,
      aim: 1,
    })
  } finally {
    await other.close()
    await stage.close()
  }
}

type Client = Pick<ReturnType<typeof openClient>, 'postAll'>

/** Every other send by the other API. */
function inHalves(first: Client, second: Client): Client['postAll'] {
  return async (posts) => {
    const half = (odd: number) => posts.filter((_, index) => index % 2 === odd)
    return (await Promise.all([first.postAll(half(0)), second.postAll(half(1))])).flat()
  }
}
