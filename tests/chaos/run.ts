import { monitorEventLoopDelay } from 'node:perf_hooks'
import { randomOf, shuffled } from '../support/random.ts'
import { spanBetween } from '../support/standstill.ts'
import { acceptedIds } from './client-send.ts'
import { type Fault, type Findings, type Scale, violationsOf } from './fault.ts'
import { compare, openPhase, type Phase, settle, slowestAnswerMs, slowestRecoveryMs } from './phase.ts'
import { type StoreKind, startWorld, type World } from './world.ts'

/** The flood of one account may use 50 of them. */
const slotsPerWorker = 125

/** One line of the table. */
export interface Result {
  fault: string
  times: number
  accepted: number
  lost: number
  doubled: number
  uncertain: number
  slowestRecoveryMs: number | undefined
  slowestAnswerMs: number
  /** As text; empty if the fault met its criteria. */
  violations: string[]
  notes: string[]
  /** How long the harness got no CPU time during the fault and until the sends ended. */
  stoodStillMs: number
}

export interface RunOptions {
  seed: number
  sends: number
  faults: readonly Fault[]
  scale: Scale
  store: StoreKind
  providerTimeoutSeconds: number
  logFile?: string | undefined
  former?: string | undefined
  print: (progress: string) => void
  /** Aborts the run. */
  signal?: AbortSignal
}

/** Minimum per fault, whatever the total. */
const fewestSends = 50

/** A delay of the harness itself that makes answers seem slower than they were. */
const notableDelayMs = 200

interface Struck {
  fault: Fault
  phase: Phase
  stoodStillMs: number
}

/**
 * Runs the faults one after the other, in an order drawn from the seed. The ledgers of all are compared at the end, so that a
 * send that is called again long after its phase is found too.
 */
export async function runChaos(options: RunOptions): Promise<Result[]> {
  const { seed, faults, scale, signal } = options
  const world = await startWorld({ slotsPerWorker, ...options })
  const stop = () => void world.stop()
  signal?.addEventListener('abort', stop)
  try {
    const struck: Struck[] = []
    for (const fault of shuffled(randomOf(seed, 'order'), faults)) {
      signal?.throwIfAborted()
      const startedAt = performance.now()
      const phase = await strike(world, fault, options)
      const { stoodStillMs } = spanBetween(startedAt, performance.now())
      struck.push({ fault, phase, stoodStillMs })
    }
    await world.provider.synced()
    const results = await Promise.all(struck.map((one) => resultOf(one, scale)))
    return faults.flatMap(({ name }) => results.filter((result) => result.fault === name))
  } finally {
    signal?.removeEventListener('abort', stop)
    await world.stop()
  }
}

async function strike(world: World, fault: Fault, options: RunOptions): Promise<Phase> {
  const { seed, sends, scale, print, signal } = options
  const random = randomOf(seed, fault.name)
  const startedAt = performance.now()
  await world.fleet.complete()
  const own = Math.max(fewestSends, Math.round(sends * fault.share))
  const phase = await openPhase(world, { name: fault.name, random, sends: own })
  print(`${fault.name}: begins`)
  const crashesBefore = world.fleet.crashes.length
  const ownDelay = monitorEventLoopDelay({ resolution: 10 })
  ownDelay.enable()
  await fault.strike(phase, scale).catch((error: Error) => {
    signal?.throwIfAborted()
    phase.violations.push(`broke off: ${error.message}`)
  })
  ownDelay.disable()
  const ownDelayMs = Math.round(ownDelay.max / 1e6)
  if (ownDelayMs > notableDelayMs) phase.notes.push(`the harness itself was held up for ${ownDelayMs} ms`)
  const struckAt = performance.now()
  await settle(phase)
  phase.violations.push(...world.fleet.crashes.slice(crashesBefore))
  const took = `${seconds(struckAt - startedAt)} and ${seconds(performance.now() - struckAt)} to settle`
  print(`${fault.name}: ${phase.clients.length} sends in ${took}`)
  return phase
}

async function resultOf({ fault, phase, stoodStillMs }: Struck, scale: Scale): Promise<Result> {
  const rows = await phase.rows()
  const miscounts = await phase.miscounts()
  const comparison = compare(phase, rows)
  const findings: Findings = {
    rows,
    comparison,
    slowestRecoveryMs: slowestRecoveryMs(phase, rows),
    slowestAnswerMs: slowestAnswerMs(phase),
  }
  const { lost, doubled, contradicted } = comparison
  const neverAccepted = phase.clients.filter((send) => send.isKeyed && acceptedIds(send).length === 0)
  const failed = rows.filter((row) => row.status === 'failed' && !fault.mayFail?.(phase, row))
  return {
    fault: fault.name,
    times: fault.times(scale),
    accepted: comparison.accepted,
    lost: lost.length,
    doubled: doubled.length,
    uncertain: comparison.uncertain,
    slowestRecoveryMs: findings.slowestRecoveryMs,
    slowestAnswerMs: findings.slowestAnswerMs,
    violations: [
      ...lost.map(({ requestId, what }) => `lost: ${requestId}: ${what}`),
      ...doubled.map(({ requestId, what }) => `doubled: ${requestId}: ${what}`),
      ...contradicted.map(({ requestId, what }) => `contradicted: ${requestId}: ${what}`),
      ...violationsOf(failed, 'nothing here makes a send fail'),
      ...miscounts.map((what) => `counters: ${what}`),
      ...neverAccepted.map(({ key, answers }) => `${key} never got a 202, but ${answers.at(-1)?.status}`),
      ...phase.violations,
      ...fault.reach(phase, findings, scale),
    ],
    notes: phase.notes,
    stoodStillMs,
  }
}

const seconds = (ms: number) => `${(ms / 1000).toFixed(1)} s`
