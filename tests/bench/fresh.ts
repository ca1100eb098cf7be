import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../support/builders.ts'
import { alternate, type Benchmark } from './benchmark.ts'
import { nowMs } from './clock.ts'
import type { Figure } from './figures.ts'
import { openClient, type Sender } from './post.ts'
import { openAccounts, openChannels } from './senders.ts'
import { atMost } from './speed/ratio.ts'
import { openStage } from './stage.ts'

const connections = 32
const full = { seconds: 5 }
const quick = { seconds: 1 }
const floodedForMs = 1000

/** An API whose predecessor was killed: its clients' connections come at once, while another API and a worker keep the cores busy. */
export const fresh: Benchmark = {
  names: ['fresh'],
  async run({ runs, isQuick, print }) {
    const { seconds } = isQuick ? quick : full
    const stage = await openStage()
    try {
      const [sender] = await openChannels(await openAccounts(stage, 1), '/accept')
      const figure = (variant: string): Figure => ({ variant, unit: ' ms', values: [] })
      const slowest = figure('slowest answer')
      const busy = figure('ready after, full cores')
      const idle = figure('ready after, idle')
      await alternate(runs, [
        async () => {
          const startedAt = nowMs()
          const { program } = await stage.startApi('api')
          idle.values.push(nowMs() - startedAt)
          await program.kill()
        },
        async () => {
          await stage.clear()
          await stage.startWorkers(1)
          const flood = new AbortController()
          const flooding = slowestAnswer(stage.api.url, sender as Sender, flood.signal)
          await sleep(floodedForMs)
          const startedAt = nowMs()
          const { url, program } = await stage.startApi('api')
          busy.values.push(nowMs() - startedAt)
          slowest.values.push(await slowestAnswer(url, sender as Sender, AbortSignal.timeout(seconds * 1000)))
          flood.abort()
          await flooding
          await program.kill()
          print(
            `fresh: ready after ${idle.values.at(-1)?.toFixed(0)} ms, ${busy.values.at(-1)?.toFixed(0)} ms on full cores, slowest answer ${slowest.values.at(-1)?.toFixed(0)} ms`,
          )
        },
      ])
      return {
        conditions: `${connections} connections from the moment that it is ready, for ${seconds} s`,
        results: [
          atMost('fresh', 'full cores', slowest, { floor: 1000, aim: 500 }),
          { case: 'fresh', measured: 'start', figures: [idle, busy] },
        ],
      }
    } finally {
      await stage.close()
    }
  },
}

/** Posts on all connections. @returns the longest time that an answer took, in milliseconds. */
async function slowestAnswer(url: string, sender: Sender, until: AbortSignal): Promise<number> {
  const client = openClient(url)
  const onOneConnection = async () => {
    let slowest = 0
    while (!until.aborted) {
      const { postedAt, acceptedAt } = await client.post({ sender, contact: newContact() })
      slowest = Math.max(slowest, acceptedAt - postedAt)
    }
    return slowest
  }
  const answers = await Promise.all(Array.from({ length: connections }, onOneConnection))
  await client.close()
  return Math.max(...answers)
}
