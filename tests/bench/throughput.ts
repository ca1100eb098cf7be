import { setTimeout as sleep } from 'node:timers/promises'
import { nowMs } from './clock.ts'
import { cpuSeconds } from './cpu-time.ts'
import type { Client, Post } from './post.ts'
import type { Choice, Provider, ProviderCall } from './provider.ts'
import type { Stage, WorkerProgram } from './stage.ts'

/** The calls to measure: a new worker gets faster until half of its work is done, and at the end it runs out of sends. */
const from = 0.5
const to = 0.95
const withinMs = 180_000
const askEveryMs = 20

interface DispatchOptions {
  program?: WorkerProgram
  /** That a bare worker calls. */
  path?: string
  /** Through which the sends are accepted: by default the service's API. */
  client?: Client
  /** Which calls count; there have to be as many as `count` says. */
  count?: number
  measured?: Choice
}

/** Figures of the calls between the middle and the end of a backlog. */
export interface Dispatched {
  perSecond: number
  /** CPU of all processes, for each call. */
  cpuMicros: number
}

/** Records the sends while no worker runs, then starts one and lets it deliver them. */
export async function dispatch(
  stage: Stage,
  posts: readonly Post[],
  { program, path, client = stage.client, count = posts.length, measured = {} }: DispatchOptions = {},
): Promise<Dispatched> {
  await stage.clear()
  await client.postAll(posts)
  await stage.startWorkers(1, program, path)
  const cpuMicros = await cpuBetween(stage.provider, count, measured)
  return { perSecond: await callsPerSecond(stage, count, measured), cpuMicros }
}

export async function dispatchThroughput(
  stage: Stage,
  posts: readonly Post[],
  options?: DispatchOptions,
): Promise<number> {
  return (await dispatch(stage, posts, options)).perSecond
}

/** The throughput while sends are being accepted at full speed. */
export async function throughputOfAll(stage: Stage, posts: readonly Post[]): Promise<number> {
  await stage.clear()
  await stage.startWorkers(1)
  await stage.client.postAll(posts)
  return await callsPerSecond(stage, posts.length, {})
}

async function callsPerSecond({ provider }: Stage, count: number, measured: Choice): Promise<number> {
  if (!(await provider.gets(count, measured, withinMs))) {
    throw new Error(`the provider did not get ${count} calls within ${withinMs} ms`)
  }
  return rateOf(await provider.calls(measured))
}

function rateOf(calls: readonly ProviderCall[]): number {
  const middle = calls.slice(Math.floor(calls.length * from), Math.floor(calls.length * to))
  const seconds = ((middle.at(-1)?.arrivedAt ?? 0) - (middle[0]?.arrivedAt ?? 0)) / 1000
  return (middle.length - 1) / seconds
}

async function cpuBetween(provider: Provider, count: number, measured: Choice): Promise<number> {
  const at = async (part: number) => {
    for (const deadline = nowMs() + withinMs; nowMs() < deadline; await sleep(askEveryMs)) {
      const calls = await provider.count(measured)
      if (calls >= count * part) return { calls, seconds: await cpuSeconds() }
    }
    throw new Error(`the provider did not get ${count * part} calls within ${withinMs} ms`)
  }
  const [first, last] = [await at(from), await at(to)]
  return ((last.seconds - first.seconds) * 1e6) / (last.calls - first.calls)
}
