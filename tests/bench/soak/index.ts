import { setTimeout as sleep } from 'node:timers/promises'
import type { Benchmark, Result } from '../benchmark.ts'
import { measureCapacity } from '../capacity.ts'
import { nowMs } from '../clock.ts'
import { median } from '../figures.ts'
import { openAccounts, openChannels } from '../senders.ts'
import { openStage, type Stage } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'
import { messageOf, putOn } from './load.ts'
import { full, quick, type Sizes } from './sizes.ts'
import { type Part, Watch } from './watch.ts'

const shareOfCapacity = 0.7
const floodingAccounts = 3
/** The first call of 5 % of the sends gets a 503. */
const path = '/fail-once/0.05/soak'
const takeEveryMs = 2000
const settleWithinMs = 60_000
/** From the first to the last fifth of the time. */
const flat = { factor: 1.3, marginMs: 10, marginMebibytes: 50 }

/** Half an hour of a mixed load: whether latency and memory stay as they are, and nothing is left behind. */
export const soak: Benchmark = {
  names: ['soak'],
  async run({ isQuick, minutes, print }) {
    const usual = isQuick ? quick : full
    const sizes = { ...usual, minutes: minutes ?? usual.minutes }
    const { dispatch, whole } = await measureCapacity(sizes.capacity, { path, messageOf })
    const perSecond = Math.min(dispatch, whole) * shareOfCapacity
    print(`soak: ${dispatch.toFixed(0)}/s dispatched, ${whole.toFixed(0)}/s accepted and dispatched`)
    const stage = await openStage()
    try {
      const { parts, refused, left } = await load(stage, perSecond, sizes, print)
      const conditions = `${perSecond.toFixed(0)} sends/s for ${sizes.minutes} minutes, 70 % of what one API and one worker can do: 80 % texts, 10 % templates, 10 % media of 20 kB, 5 % tried again; ${floodingAccounts} accounts with a tenth each flood every ${sizes.floodEverySeconds} s`
      return { conditions, results: resultsOf(parts, refused, left), charts: chartsOf(parts, sizes) }
    } finally {
      await stage.close()
    }
  },
}

async function load(stage: Stage, perSecond: number, sizes: Sizes, print: (progress: string) => void) {
  const others = await openChannels(await openAccounts(stage, sizes.accounts), path)
  const flooding = await openChannels(await openAccounts(stage, floodingAccounts), path)
  await startWarmWorker(stage)
  await stage.provider.forget()
  const watch = new Watch(stage)
  await watch.begin()
  const parts: Part[] = []
  let refused = 0
  const until = nowMs() + sizes.minutes * 60_000
  let isOver = false
  const watching = async () => {
    for (let part = 1; !isOver; ) {
      await sleep(takeEveryMs)
      await watch.takeCalls()
      if (nowMs() < until - sizes.minutes * 60_000 + part * sizes.partSeconds * 1000) continue
      part++
      parts.push(await watch.endPart())
      const { p50Ms, p99Ms, apiMebibytes, workerMebibytes, cpuMicros, sends, ...last } = parts.at(-1) as Part
      print(
        `soak: ${sends} sends of others: p50 ${p50Ms.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)} ms; API ${apiMebibytes.toFixed(0)} MiB, worker ${workerMebibytes.toFixed(0)} MiB; ${cpuMicros.toFixed(0)} µs of all processes each; fixed work ${last.fixedWorkMs.toFixed(1)} ms`,
      )
    }
  }
  const watched = watching()
  const onRefused = (error: Error) => {
    if (refused++ === 0) print(`soak: ${error.message}`)
  }
  const { url } = stage.api
  const onAccepted = (flooded: boolean) => (accepted: Parameters<Watch['add']>[0]) =>
    watch.add(accepted, flooded)
  await putOn(
    {
      url,
      perSecond,
      others,
      flooding,
      sizes,
      onAccepted: onAccepted(false),
      onFlood: onAccepted(true),
      onRefused,
    },
    until,
  )
  const left = await settle(stage, watch)
  isOver = true
  await watched
  print(`soak: ${watch.accepted} accepted, ${refused} refused, ${JSON.stringify(left)} left`)
  return { parts: parts.slice(0, (sizes.minutes * 60) / sizes.partSeconds), refused, left }
}

interface Left {
  unfinished: number
  withoutCall: number
  wakeUps: number
}

/** Waits for the end of all sends. @returns what is left nevertheless. */
async function settle({ db, redis }: Stage, watch: Watch): Promise<Left> {
  const ask = async (): Promise<Left> => {
    const { rows } = await db.$client.query<{ count: number }>(
      'select count(*)::int as count from sends where finished_at is null',
    )
    const jobs = (await redis.keys('*')).filter((key) => /[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-/.test(key))
    return { unfinished: rows[0]?.count ?? 0, withoutCall: watch.unarrived, wakeUps: jobs.length }
  }
  for (const deadline = nowMs() + settleWithinMs; ; await sleep(takeEveryMs)) {
    const left = await ask()
    if (nowMs() > deadline || Object.values(left).every((count) => count === 0)) return left
  }
}

function resultsOf(parts: readonly Part[], refused: number, left: Left): Result[] {
  const fifth = Math.max(1, Math.floor(parts.length / 5))
  const fifths = (unit: string, of: (part: Part) => number) => [
    { variant: 'first fifth', unit, values: parts.slice(0, fifth).map(of) },
    { variant: 'last fifth', unit, values: parts.slice(-fifth).map(of) },
  ]
  const compared = (unit: string, of: (part: Part) => number, most: (first: number) => number) => {
    const figures = fifths(unit, of)
    const [first = Number.NaN, last = Number.NaN] = figures.map(({ values }) => median(values))
    return { figures, isReached: last <= most(first) }
  }
  const latency = (first: number) => flat.factor * first + flat.marginMs
  const memory = (first: number) => first + flat.marginMebibytes
  const latencyReach = `at most ${flat.factor} x the first + ${flat.marginMs} ms`
  const memoryReach = `at most the first + ${flat.marginMebibytes} MiB`
  const rest = { refused, ...left }
  return [
    {
      measured: 'p50 from 202 to provider, of the others',
      reach: latencyReach,
      ...compared(' ms', (part) => part.p50Ms, latency),
    },
    { measured: 'p99 of the same', reach: latencyReach, ...compared(' ms', (part) => part.p99Ms, latency) },
    {
      measured: 'resident memory of the API',
      reach: memoryReach,
      ...compared(' MiB', (part) => part.apiMebibytes, memory),
    },
    {
      measured: 'resident memory of the worker',
      reach: memoryReach,
      ...compared(' MiB', (part) => part.workerMebibytes, memory),
    },
    { measured: 'CPU of all processes for a send', figures: fifths(' µs', (part) => part.cpuMicros) },
    {
      measured: 'CPU of a fixed calculation, which only the machine changes',
      figures: fifths(' ms', (part) => part.fixedWorkMs),
    },
    {
      measured: 'left in the end',
      reach: 'nothing',
      figures: Object.entries(rest).map(([variant, count]) => ({ variant, unit: '', values: [count] })),
      isReached: Object.values(rest).every((count) => count === 0),
    },
  ].map((result) => ({ case: 'soak', ...result }))
}

function chartsOf(parts: readonly Part[], { partSeconds }: Sizes): string[] {
  const labels = parts.map((_, index) => `${Math.round(((index + 1) * partSeconds) / 6) / 10}`)
  const chart = (title: string, unit: string, lines: ((part: Part) => number)[]) => {
    const values = lines.map((of) => parts.map((part) => Number(of(part).toFixed(1))))
    const highest = Math.ceil((Math.max(...values.flat()) * 1.1) / 10) * 10
    return [
      '```mermaid',
      'xychart-beta',
      `  title "${title}"`,
      `  x-axis [${labels.join(', ')}]`,
      `  y-axis "${unit}" 0 --> ${highest}`,
      ...values.map((line) => `  line [${line.join(', ')}]`),
      '```',
    ].join('\n')
  }
  return [
    chart('p50 (lower) and p99 from 202 to provider, by minutes', 'ms', [
      (part) => part.p50Ms,
      (part) => part.p99Ms,
    ]),
    chart('Resident memory of API (first line) and worker, by minutes', 'MiB', [
      (part) => part.apiMebibytes,
      (part) => part.workerMebibytes,
    ]),
    chart('CPU of all processes for a send, and a fixed calculation (lower), by minutes', '10 µs; ms', [
      (part) => part.cpuMicros / 10,
      (part) => part.fixedWorkMs,
    ]),
  ]
}
