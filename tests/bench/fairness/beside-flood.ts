import { alternate } from '../benchmark.ts'
import { type Figure, median, percentile } from '../figures.ts'
import { latenciesOf, p99 } from '../latency.ts'
import type { Sender } from '../post.ts'
import { inTurn, openAccounts, openChannels } from '../senders.ts'
import type { Stage } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'
import type { Case } from './case.ts'

const accounts = 10
const perSecondOfEach = 10

/** A backlog of one account, at a provider that answers so. */
interface Flood {
  name: string
  path: string
  provider: string
  /** Calls of it before the others are measured. */
  warmUpCalls: number
  reach: string
  isReached(aloneMs: number, besideMs: number): boolean
  isAimReached(aloneMs: number, besideMs: number): boolean
}

const withMargin = { reach: 'at most alone + 30 ms, aim 10', isReached: within(30), isAimReached: within(10) }

function within(marginMs: number) {
  return (aloneMs: number, besideMs: number) => besideMs <= aloneMs + marginMs
}

const floods: readonly Flood[] = [
  {
    name: 'beside-instant',
    path: '/accept/flood',
    provider: 'that answers at once',
    warmUpCalls: 4000,
    reach: 'at most 60 ms, aim 40',
    isReached: (_aloneMs, besideMs) => besideMs <= 60,
    isAimReached: (_aloneMs, besideMs) => besideMs <= 40,
  },
  {
    name: 'beside-slow',
    path: '/after/1000/flood',
    provider: 'that takes 1 s',
    warmUpCalls: 2000,
    ...withMargin,
  },
  { name: 'beside-hung', path: '/hang/flood', provider: 'that never answers', warmUpCalls: 4, ...withMargin },
]

const withinMs = 60_000

/** The time that others wait while the backlog of one account lasts. */
export const besideFlood: readonly Case[] = floods.map((flood) => ({
  name: flood.name,
  reach: flood.reach,
  async measure(stage, { runs, sizes, print }) {
    const others = await openChannels(await openAccounts(stage, accounts), '/accept/others')
    const flooding = await (await stage.openAccount()).openChannel(flood.path)
    const alone: Figure = { variant: 'alone', unit: ' ms', values: [] }
    const beside: Figure = { variant: 'beside', unit: ' ms', values: [] }
    const measure = async ({ variant, values }: Figure) => {
      const latencies = await latenciesOfOthers(stage, others, sizes.seconds)
      values.push(p99(latencies))
      const p50 = percentile(latencies, 0.5)
      print(`${flood.name}: ${variant}: p50 ${p50.toFixed(1)} ms, p99 ${values.at(-1)?.toFixed(1)} ms`)
    }
    await alternate(runs, [
      async () => {
        await startWarmWorker(stage)
        await measure(alone)
      },
      async () => {
        await beginFlood(stage, flooding, flood, sizes.flood)
        await measure(beside)
        await expectBacklog(stage, flooding)
      },
    ])
    const [aloneMs, besideMs] = [median(alone.values), median(beside.values)]
    const others10 = `${accounts} accounts at ${perSecondOfEach}/s each`
    return {
      measured: `p99 from 202 to provider of ${others10}, beside a backlog of one more at a provider ${flood.provider}`,
      figures: [alone, beside],
      isReached: flood.isReached(aloneMs, besideMs),
      isAimReached: flood.isAimReached(aloneMs, besideMs),
    }
  },
}))

async function latenciesOfOthers(
  stage: Stage,
  others: readonly Sender[],
  seconds: number,
): Promise<number[]> {
  const loads = others.map((sender) => ({ sender, perSecond: perSecondOfEach }))
  return (await latenciesOf(stage, loads, seconds)).flat()
}

/** Records the backlog, then starts a worker, and waits until it is warm. */
async function beginFlood(stage: Stage, sender: Sender, { path, warmUpCalls }: Flood, backlog: number) {
  await stage.clear()
  await stage.client.postAll(inTurn([sender], backlog))
  await stage.startWorkers(1)
  if (!(await stage.provider.gets(warmUpCalls, { path }, withinMs)))
    throw new Error('the worker delivers nothing')
}

/** Otherwise it wouldn't be a flood that they were measured beside. */
async function expectBacklog({ db }: Stage, { channelId }: Sender): Promise<void> {
  const { rowCount } = await db.$client.query(
    "select from sends where channel_id = $1 and status = 'queued' limit 1",
    [channelId],
  )
  if (rowCount === 0) throw new Error('the backlog was delivered before the others were measured')
}
