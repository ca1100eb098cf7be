import type { Post } from './post.ts'
import type { Choice, ProviderCall } from './provider.ts'
import type { Stage } from './stage.ts'

/** The calls to measure: a new worker gets faster until half of its work is done, and at the end it runs out of sends. */
const from = 0.5
const to = 0.95
const withinMs = 180_000

/**
 * Records the sends without a worker, then starts one that delivers them.
 *
 * @param measured the calls that count; their number has to be `count`.
 * @returns calls per second.
 */
export async function dispatchThroughput(
  stage: Stage,
  posts: readonly Post[],
  { program, count = posts.length, measured = {} }: DispatchOptions = {},
): Promise<number> {
  await stage.clear()
  await stage.client.postAll(posts)
  await stage.startWorkers(1, program)
  return await callsPerSecond(stage, count, measured)
}

interface DispatchOptions {
  program?: Parameters<Stage['startWorkers']>[1]
  count?: number
  measured?: Choice
}

/** The same while sends are being accepted at full speed. */
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
