import { alternate, type BenchmarkOptions, type Result } from '../benchmark.ts'
import { nowMs } from '../clock.ts'
import type { Figure } from '../figures.ts'
import { openClient } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import { ratio } from '../speed/ratio.ts'
import { openStage, type Stage } from '../stage.ts'

const full = { accounts: 500, sendsOfEach: 40, warmUpSends: 4000 }
const quick = { accounts: 200, sendsOfEach: 15, warmUpSends: 2000 }
const path = '/accept/processes'
const withinMs = 180_000

/** Whether processes stand in each other's way: two APIs and two workers on the machine, in place of one of each. */
export async function processes({ runs, isQuick, print }: BenchmarkOptions): Promise<Result> {
  const { accounts, sendsOfEach, warmUpSends } = isQuick ? quick : full
  const stage = await openStage()
  const other = openClient((await stage.startApi('api')).url)
  try {
    const senders = await openChannels(await openAccounts(stage, accounts), path)
    const one: Figure = { variant: 'one of each', unit: '/s', values: [] }
    const two: Figure = { variant: 'two', unit: '/s', values: [] }
    /** From the first accept to the last call, by workers that have done some work before. */
    const measure =
      (figure: Figure, { postAll }: Client, workers: number) =>
      async () => {
        await stage.clear()
        await stage.startWorkers(workers)
        await postAll(inTurn(senders, (workers * warmUpSends) / accounts))
        await allCalled(stage, workers * warmUpSends)
        const posts = inTurn(senders, sendsOfEach)
        const startedAt = nowMs()
        await postAll(posts)
        await allCalled(stage, workers * warmUpSends + posts.length)
        figure.values.push((posts.length * 1000) / (nowMs() - startedAt))
        print(`processes: ${figure.variant}: ${figure.values.at(-1)?.toFixed(0)}/s`)
      }
    await alternate(runs, [
      measure(one, stage.client, 1),
      measure(two, { postAll: inHalves(stage.client, other) }, 2),
    ])
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

async function allCalled({ provider }: Stage, count: number): Promise<void> {
  if (!(await provider.gets(count, { path }, withinMs)))
    throw new Error(`not all ${count} were called in time`)
}

type Client = Pick<ReturnType<typeof openClient>, 'postAll'>

/** Every other send by the other API. */
function inHalves(first: Client, second: Client): Client['postAll'] {
  return async (posts) => {
    const half = (odd: number) => posts.filter((_, index) => index % 2 === odd)
    return (await Promise.all([first.postAll(half(0)), second.postAll(half(1))])).flat()
  }
}
