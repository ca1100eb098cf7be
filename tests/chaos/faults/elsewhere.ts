import { burst, load } from '../clients.ts'
import { lateness, violation } from '../fault.ts'
import { largest, type Phase, settle } from '../phase.ts'

const slowestAnswerMs = 1500
/** Otherwise the full load would meet processes that have just begun. */
const warmUp = { count: 100, seconds: 4 }
const sendsAlone = 10
/** Sooner than the reconciler would add a wake-up that wasn't enqueued. */
const enqueuedWithinMs = 2000
/** A frozen worker may have been handed the wake-up call of a queue, which others look at again after 3 s. */
const deliveredWithinMs = 5000

/** A Redis that only one fault strikes. */
export interface Elsewhere {
  redisUrl: string
  stop(): Promise<void>
}

/** Runs the fleet with another Redis, under load while `during` strikes, and then checks that each process works by itself. */
export async function loadElsewhere<Servers extends Elsewhere>(
  phase: Phase,
  servers: Servers,
  perSecond: number,
  during: (servers: Servers) => Promise<void>,
): Promise<void> {
  const { fleet, redisUrl } = phase.world
  try {
    await fleet.restartWith({ REDIS_URL: servers.redisUrl })
    await load(phase, { ...warmUp, through: 'apis' })
    await load(phase, { count: 0, seconds: 0, perSecond, through: 'apis', during: during(servers) })
    await settle(phase)
    await eachAlone(phase)
  } finally {
    await fleet.restartWith({ REDIS_URL: redisUrl })
    await servers.stop()
  }
}

/** Each API enqueues, and each worker delivers, without the help of others. */
async function eachAlone(phase: Phase): Promise<void> {
  const { fleet } = phase.world
  for (const api of fleet.apis())
    await takesAtMost(phase, 'an API', enqueuedWithinMs, () => burst(phase, sendsAlone, api))
  for (const worker of fleet.workers()) {
    const others = fleet.workers().filter((other) => other !== worker)
    for (const { pid } of others) process.kill(pid, 'SIGSTOP')
    try {
      await takesAtMost(phase, 'a worker', deliveredWithinMs, () => burst(phase, sendsAlone, 'apis'))
    } finally {
      for (const { pid } of others) process.kill(pid, 'SIGCONT')
    }
  }
}

async function takesAtMost(phase: Phase, who: string, ms: number, send: () => Promise<void>): Promise<void> {
  const startedAt = performance.now()
  await send()
  await settle(phase)
  const tookMs = Math.round(performance.now() - startedAt)
  phase.violations.push(...lateness(tookMs > ms, `${who} alone took ${tookMs} ms`))
}

export function slowAnswers(slowestMs: number): string[] {
  return lateness(slowestMs > slowestAnswerMs, `an answer took ${Math.round(slowestMs)} ms`)
}

export function slowRecovery(slowestMs: number | undefined, withinMs: number): string[] {
  return slowestMs === undefined
    ? violation(true, 'nothing was struck')
    : lateness(slowestMs > withinMs, `it took ${Math.round(slowestMs)} ms to recover`)
}

/** The longest time without a call may not be longer. */
export function standstill({ provider, notes }: Phase, longestMs: number): string[] {
  const moments = provider.calls.map(({ arrivedAt }) => arrivedAt).sort((a, b) => a - b)
  const stoodMs = largest(moments.slice(1).map((at, index) => at - Number(moments[index])))
  notes.push(`the longest time without a call was ${Math.round(stoodMs)} ms`)
  return lateness(stoodMs > longestMs, `there was no call for ${Math.round(stoodMs)} ms`)
}
