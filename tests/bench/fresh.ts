import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../support/builders.ts'
import { alternate, type Benchmark } from './benchmark.ts'
import { nowMs } from './clock.ts'
import type { Figure } from './figures.ts'
import { openClient, type Sender } from './post.ts'
import { openAccounts, openChannels } from './senders.ts'
import { atMost } from './speed/ratio.ts'
import { openStage, type Stage } from './stage.ts'

const connections = 32
const full = { seconds: 5 }
const quick = { seconds: 1 }
const floodedForMs = 1000

/** A fresh API that gets 32 connections at once, beside a loaded API and a worker. */
export const fresh: Benchmark = {
  names: ['fresh'],
  async run({ runs, isQuick, print }) {
    const { seconds } = isQuick ? quick : full
    const stage = await openStage()
    try {
      const [sender] = await openChannels(await openAccounts(stage, 1), '/accept')
      const figure = (variant: string): Figure => ({ variant, unit: ' ms', values: [] })
      const slowest = figure('slowest answer')
      const busy = figure('ready after, beside a flood')
      const idle = figure('ready after, idle')
      await alternate(runs, [
        async () => {
          await stage.clear()
          const fresh = await timedStart(stage)
          await fresh.program.kill()
          idle.values.push(fresh.readyAfterMs)
          print(`fresh: ready after ${fresh.readyAfterMs.toFixed(0)} ms`)
        },
        async () => {
          await stage.clear()
          await stage.startWorkers(1)
          const flood = new AbortController()
          const flooding = slowestAnswer(stage.api.url, sender as Sender, flood.signal)
          try {
            await sleep(floodedForMs)
            const { url, program, readyAfterMs } = await timedStart(stage)
            const slowestMs = await slowestAnswer(url, sender as Sender, AbortSignal.timeout(seconds * 1000))
            await program.kill()
            busy.values.push(readyAfterMs)
            slowest.values.push(slowestMs)
            print(
              `fresh: beside a flood after ${readyAfterMs.toFixed(0)} ms, slowest answer ${slowestMs.toFixed(0)} ms`,
            )
          } finally {
            flood.abort()
            await flooding
          }
        },
      ])
      return {
        conditions: `${connections} connections from the moment that it is ready, for ${seconds} s`,
        results: [
          atMost('fresh', 'beside a flood', slowest, { floor: 1000, aim: 500 }),
          { case: 'fresh', measured: 'start', figures: [idle, busy] },
        ],
      }
    } finally {
      await stage.close()
    }
  },
}

async function timedStart(stage: Stage) {
  const startedAt = nowMs()
  const started = await stage.startApi('api')
  return { ...started, readyAfterMs: nowMs() - startedAt }
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
