// The real clock, also where a test uses fake timers.
import { existsSync, openSync, readSync } from 'node:fs'
import { performance } from 'node:perf_hooks'
import { expect } from 'vitest'

/** How long some work took, and for how much of that this process got no CPU. */
export interface Span {
  tookMs: number
  stoodStillMs: number
}

const tickMs = 10
/** Timers alone make gaps up to this long. */
const leastGapMs = 50
/** Every process waits up to this long for a CPU now and then. */
const leastWaitMs = 1

/** When, and for how long, this process got no CPU. */
const standstills: { from: number; to: number; ms: number }[] = []

/**
 * A gap in which this process used the CPU is its own: what blocks the event loop is a fault, not a standstill. In shorter
 * ones, it waited for a CPU for as long as the system says.
 */
function tick() {
  const here = now()
  const gapMs = here.atMs - last.atMs - (here.cpuMs - last.cpuMs)
  const waitMs = here.waitMs - last.waitMs
  const ms = gapMs > leastGapMs ? gapMs : waitMs
  if (ms > leastWaitMs) standstills.push({ from: last.atMs, to: here.atMs, ms })
  last = here
}

function now() {
  return { atMs: performance.now(), ...mainThreadTimes() }
}

/** Opened once: it is read a hundred times a second. */
const mainThread = openIfThere(`/proc/self/task/${process.pid}/schedstat`)
const read = Buffer.alloc(128)

/** Times of the main thread, if the system has them: V8's other threads compile and collect garbage while that one gets no CPU. */
function mainThreadTimes(): { cpuMs: number; waitMs: number } {
  if (mainThread !== undefined) {
    const length = readSync(mainThread, read, 0, read.length, 0)
    const [cpu = 0, wait = 0] = read.toString('latin1', 0, length).split(' ').map(Number)
    return { cpuMs: cpu / 1e6, waitMs: wait / 1e6 }
  }
  const { user, system } = process.cpuUsage()
  return { cpuMs: (user + system) / 1000, waitMs: 0 }
}

function openIfThere(path: string): number | undefined {
  return existsSync(path) ? openSync(path, 'r') : undefined
}

let last = now()
setInterval(tick, tickMs).unref()

/** Thrown if a test couldn't check its promise, since the machine stood still: the test is repeated (vitest.config.ts). */
export class StoodStill extends Error {
  constructor(what: string) {
    super(`The machine stood still: ${what}`)
    console.warn(this.message)
  }
}

export async function timed<T extends object>(work: () => Promise<T>): Promise<T & Span> {
  const startedAt = performance.now()
  const result = await work()
  return { ...result, ...spanBetween(startedAt, performance.now()) }
}

/** Between two past moments, by `performance.now()`. */
export function spanBetween(from: number, to: number): Span {
  tick()
  let stoodStillMs = 0
  // They are many on a busy machine, and the latest count.
  for (let index = standstills.length - 1; index >= 0; index--) {
    const still = standstills[index] as (typeof standstills)[number]
    if (still.to <= from) break
    stoodStillMs += Math.max(0, Math.min(still.ms, Math.min(to, still.to) - Math.max(from, still.from)))
  }
  return { tookMs: to - from, stoodStillMs }
}

/** Checks the result of a time limit, which a machine that stood still meanwhile may have cut short. */
export function unlessStoodStill({ stoodStillMs }: Span, check: () => void): void {
  try {
    check()
  } catch (error) {
    throw stoodStillMs > 0 ? new StoodStill(`for ${stoodStillMs} ms. ${error}`) : error
  }
}

/** Expects that it took less time, but for a machine that stood still for the rest of it. */
export function expectSooner({ tookMs, stoodStillMs }: Span, thanMs: number): void {
  const ranMs = tookMs - stoodStillMs
  if (tookMs >= thanMs && ranMs < thanMs) throw new StoodStill(`${stoodStillMs} of ${tookMs} ms`)
  expect(tookMs).toBeLessThan(thanMs)
}
