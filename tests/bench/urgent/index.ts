import { setTimeout as sleep } from 'node:timers/promises'
import { updateChannel } from '../../../db/accounts/channels.ts'
import { newContact } from '../../support/builders.ts'
import { alternate, type Benchmark, type Result } from '../benchmark.ts'
import { nowMs } from '../clock.ts'
import { type Figure, median } from '../figures.ts'
import { type Load, latenciesOf, p99 } from '../latency.ts'
import type { Sender } from '../post.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'

const full = { bulk: 100_000, seconds: 60 }
const quick = { bulk: 5000, seconds: 10 }
const codesPerSecond = 5
const ratePerSecond = 50
const floodPerSecond = 100
const path = '/between/20/40/urgent'
const allWithinMs = 900_000
const askEveryMs = 100

const codes = (sender: Sender): Load => ({
  sender,
  perSecond: codesPerSecond,
  postOf: () => ({ sender, contact: newContact(), priority: 'urgent' }),
})

const figure = (variant: string, unit: string): Figure => ({ variant, unit, values: [] })

/** How long codes wait from their 202 to their call: alone, beside a campaign of their channel, and beside floods of others. */
export const urgent: Benchmark = {
  names: ['urgent', 'urgent-rate', 'urgent-flood'],
  async run({ runs, isQuick, isChosen, print }) {
    const sizes = isQuick ? quick : full
    const results: Result[] = []
    const stage = await openStage()
    try {
      const about = { stage, runs, sizes, print }
      if (isChosen('urgent')) results.push(...(await besideCampaign(about)))
      if (isChosen('urgent-rate')) results.push(await atRate(about))
      if (isChosen('urgent-flood')) results.push(await besideFloods(about))
    } finally {
      await stage.close()
    }
    return {
      conditions: `codes at ${codesPerSecond}/s for ${sizes.seconds} s, ${sizes.bulk} bulk sends of their channel posted at once`,
      results,
    }
  },
}

interface About {
  stage: Stage
  runs: number
  sizes: typeof full
  print(progress: string): void
}

/** @returns the campaign's calls per second until its last one. */
async function sendCampaign({ stage, sizes }: About, sender: Sender, isWhole = true): Promise<number> {
  const post = () => ({ sender, contact: newContact(), priority: 'bulk' as const })
  const startedAt = nowMs()
  await stage.client.postAll(Array.from({ length: sizes.bulk }, post))
  for (const deadline = startedAt + allWithinMs; isWhole && (await isUnfinished(stage, sender)); ) {
    if (nowMs() > deadline) throw new Error('the campaign was not called in time')
    await sleep(askEveryMs)
  }
  return (sizes.bulk * 1000) / (nowMs() - startedAt)
}

async function isUnfinished({ db }: Stage, { channelId }: Sender): Promise<boolean> {
  const { rows } = await db.$client.query(
    'select from sends where channel_id = $1 and finished_at is null limit 1',
    [channelId],
  )
  return rows.length > 0
}

async function besideCampaign(about: About): Promise<Result[]> {
  const { stage, runs, sizes, print } = about
  const [sender] = (await openChannels(await openAccounts(stage, 1), path)) as [Sender]
  const [alone, beside] = [figure('alone', ' ms'), figure('beside', ' ms')]
  const [bulkAlone, bulkBeside] = [figure('alone', '/s'), figure('beside codes', '/s')]
  await alternate(runs, [
    async () => {
      await startWarmWorker(stage)
      const latencies = await latenciesOf(stage, [codes(sender)], sizes.seconds)
      alone.values.push(p99(latencies.flat()))
      print(`urgent: alone: ${alone.values.at(-1)?.toFixed(1)} ms`)
    },
    async () => {
      await startWarmWorker(stage)
      const perSecond = await sendCampaign(about, sender)
      bulkAlone.values.push(perSecond)
      print(`urgent: the campaign alone: ${perSecond.toFixed(0)}/s`)
    },
    async () => {
      await startWarmWorker(stage)
      const [latencies, perSecond] = await Promise.all([
        latenciesOf(stage, [codes(sender)], sizes.seconds),
        sendCampaign(about, sender),
      ])
      beside.values.push(p99(latencies.flat()))
      bulkBeside.values.push(perSecond)
      print(`urgent: beside: ${beside.values.at(-1)?.toFixed(1)} ms, the campaign ${perSecond.toFixed(0)}/s`)
    },
  ])
  return [
    {
      case: 'urgent',
      measured: 'p99 from 202 to call of the codes, without a rate',
      figures: [alone, beside],
      reach: 'at most 100 ms, and 3 x alone',
      isReached: median(beside.values) <= Math.min(100, 3 * median(alone.values)),
    },
    {
      case: 'urgent',
      measured: 'calls of the campaign',
      figures: [bulkAlone, bulkBeside],
      reach: 'at least 0.9 of alone',
      isReached: median(bulkBeside.values) >= 0.9 * median(bulkAlone.values),
    },
  ]
}

async function atRate(about: About): Promise<Result> {
  const { stage, runs, sizes, print } = about
  const [sender] = (await openChannels(await openAccounts(stage, 1), path)) as [Sender]
  await updateChannel(stage.db, sender.channelId, { rateCalls: ratePerSecond, rateSeconds: 1 })
  const beside = figure('beside', ' ms')
  await alternate(runs, [
    async () => {
      await startWarmWorker(stage)
      const [latencies] = await Promise.all([
        latenciesOf(stage, [codes(sender)], sizes.seconds),
        sendCampaign(about, sender, false),
      ])
      beside.values.push(p99(latencies.flat()))
      print(`urgent-rate: ${beside.values.at(-1)?.toFixed(0)} ms`)
    },
  ])
  return {
    case: 'urgent-rate',
    measured: `p99 from 202 to call of the codes, at a rate of ${ratePerSecond}/s`,
    figures: [beside],
    reach: 'at most 1000 ms',
    isReached: median(beside.values) <= 1000,
  }
}

async function besideFloods({ stage, runs, sizes, print }: About): Promise<Result> {
  const [sender, ...flooding] = (await openChannels(await openAccounts(stage, 4), path)) as [
    Sender,
    ...Sender[],
  ]
  const [alone, beside] = [figure('alone', ' ms'), figure('beside', ' ms')]
  const floods = flooding.map((one): Load => ({ ...codes(one), perSecond: floodPerSecond }))
  const measure =
    ({ variant, values }: Figure, others: readonly Load[]) =>
    async () => {
      await startWarmWorker(stage)
      const [latencies = []] = await latenciesOf(stage, [codes(sender), ...others], sizes.seconds)
      values.push(p99(latencies))
      print(`urgent-flood: ${variant}: ${values.at(-1)?.toFixed(1)} ms`)
    }
  await alternate(runs, [measure(alone, []), measure(beside, floods)])
  return {
    case: 'urgent-flood',
    measured: `p99 from 202 to call of the codes, beside three accounts that send ${floodPerSecond} urgent ones a second each`,
    figures: [alone, beside],
    reach: 'at most 2 x alone',
    isReached: median(beside.values) <= 2 * median(alone.values),
  }
}
