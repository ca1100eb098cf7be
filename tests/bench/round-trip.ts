import { setTimeout as sleep } from 'node:timers/promises'
import { newContact } from '../support/builders.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import type { Benchmark, Result } from './benchmark.ts'
import { percentile } from './figures.ts'
import { openClient, type Sender } from './post.ts'
import { openAccounts, openChannels } from './senders.ts'
import { openStage, type Stage } from './stage.ts'

const full = { roundTripsMs: [0, 25, 50, 100, 150, 200, 300], seconds: 30 }
const quick = { roundTripsMs: [0, 100, 200], seconds: 5 }
const perSecond = 20
const accounts = 10
const warmUpSeconds = 5
/** Up to this round trip no request may be refused (docs/explanation/performance.md#the-round-trip-to-postgresql). */
const noneRefusedUpToMs = 100

interface Measured {
  refusedPercent: number
  acceptMs: number[]
}

/**
 * The cost of a distance to PostgreSQL: an API behind a proxy that delays traffic, with a few accounts that send so seldom that
 * their keys and channels have to be looked up each time.
 */
export const roundTrip: Benchmark = {
  names: ['round-trip'],
  async run({ runs, isQuick, print }) {
    const { roundTripsMs, seconds } = isQuick ? quick : full
    const stage = await openStage()
    try {
      const senders = await openChannels(await openAccounts(stage, accounts), '/accept')
      const results: Result[] = []
      for (const roundTripMs of roundTripsMs) {
        print(`round-trip: ${roundTripMs} ms`)
        const measured: Measured[] = []
        for (let run = 0; run < runs; run++)
          measured.push(await measure(stage, senders, roundTripMs, seconds))
        results.push(resultOf(roundTripMs, measured))
      }
      const conditions = `${accounts} accounts, ${perSecond} sends/s together, and PostgreSQL that far from the API`
      return { conditions, results }
    } finally {
      await stage.close()
    }
  },
}

async function measure(stage: Stage, senders: readonly Sender[], roundTripMs: number, seconds: number) {
  const proxy = await startTcpProxy(stage.databaseUrl)
  proxy.delay(roundTripMs / 2)
  const api = await stage.start('api', { DATABASE_URL: proxy.url })
  const client = openClient(`http://127.0.0.1:${api.ready.port}`)
  try {
    const posts: Promise<number | undefined>[] = []
    for (let index = 0; index < (warmUpSeconds + seconds) * perSecond; index++) {
      const sender = senders[index % senders.length] as Sender
      const post = client.post({ sender, contact: newContact() })
      posts.push(
        post.then(
          ({ postedAt, acceptedAt }) => acceptedAt - postedAt,
          () => undefined,
        ),
      )
      await sleep(1000 / perSecond)
    }
    const answers = (await Promise.all(posts)).slice(warmUpSeconds * perSecond)
    const acceptMs = answers.filter((ms) => ms !== undefined)
    return { refusedPercent: (100 * (answers.length - acceptMs.length)) / answers.length, acceptMs }
  } finally {
    await client.close()
    await api.kill()
    await proxy.close()
    await stage.clear()
  }
}

function resultOf(roundTripMs: number, measured: readonly Measured[]): Result {
  const figure = (variant: string, unit: string, of: (one: Measured) => number) => ({
    variant,
    unit,
    values: measured.map(of),
  })
  const isToBeReached = roundTripMs <= noneRefusedUpToMs
  return {
    case: 'round-trip',
    measured: `${roundTripMs} ms to PostgreSQL and back`,
    figures: [
      figure('refused with 503', ' %', ({ refusedPercent }) => refusedPercent),
      figure('accept p50', ' ms', ({ acceptMs }) => percentile(acceptMs, 0.5)),
      figure('accept p99', ' ms', ({ acceptMs }) => percentile(acceptMs, 0.99)),
    ],
    ...(isToBeReached && {
      reach: 'no 503',
      isReached: measured.every(({ refusedPercent }) => refusedPercent === 0),
    }),
  }
}
