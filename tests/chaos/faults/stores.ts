import { setTimeout as sleep } from 'node:timers/promises'
import type { BreakableServers } from '../../support/breakable-servers.ts'
import { between } from '../../support/random.ts'
import { eventually } from '../../support/wait.ts'
import { burst, burstWithoutKeys, load } from '../clients.ts'
import { type Fault, type Findings, lateness, uncertainAtAll, violation } from '../fault.ts'
import { isRefused, type Phase, statusesOf } from '../phase.ts'
import { otherStatuses } from './api.ts'

const slowestAnswerMs = 1500
const recoverWithinMs = 15_000
const frozenMs = 3000
const postgresDownMs = 5000
/** Sent at once, so that the fault comes during accepts and claims. */
const sendsBeforeFault = 30
/** Sent without keys after the fault: the first answer has to be true, because they aren't repeated. */
const sendsWithoutKeys = 10
/** Together longer than a job's lock and a worker's lease. */
const bothDownMs = 3000
const onlyPostgresDownMs = 6000

/**
 * Creates a fault that strikes a store, or something else that all processes use, under load, and ends again.
 *
 * @param refusesSurely whether there has to be a 503, if one is allowed: without one, nothing was struck.
 */
export function storeFault(
  name: string,
  allowedStatuses: readonly number[],
  outage: (servers: BreakableServers, phase: Phase) => Promise<void>,
  refusesSurely = true,
): Fault {
  const refuses = allowedStatuses.includes(503)
  return {
    name,
    share: 0.05,
    times: () => 1,
    async strike(phase, { storeSeconds }) {
      phase.provider.behave('slowAndOftenBusy')
      const strike = async () => {
        await sleep(between(phase.random, 1000, 2000))
        const answered = burst(phase, sendsBeforeFault, 'apis')
        await sleep(between(phase.random, 10, 80))
        await outage(phase.world.servers, phase)
        phase.faultsOver.push(Date.now())
        await Promise.all([answered, sleep(1000)])
      }
      await load(phase, {
        count: phase.sends - sendsBeforeFault,
        seconds: storeSeconds,
        during: strike(),
        through: 'apis',
        isWithoutKeys: refuses,
      })
      if (refuses)
        phase.notes.push(`${refusedForGood(phase)} clients without a key got a 503 and left it at that`)
    },
    reach: (phase, findings) => [
      ...otherStatuses(statusesOf(phase), allowedStatuses),
      ...(refuses && refusesSurely ? notRefused(phase) : []),
      ...uncertainAtAll(phase, findings),
      ...tooSlow(findings),
    ],
  }
}

function notRefused(phase: Phase): string[] {
  return [
    ...violation(!statusesOf(phase).has(503), 'nobody got a 503'),
    ...violation(refusedForGood(phase) === 0, 'nobody without a key got a 503'),
  ]
}

function refusedForGood(phase: Phase): number {
  return phase.clients.filter((send) => isRefused(phase, send)).length
}

function tooSlow({ slowestAnswerMs: answerMs, slowestRecoveryMs: recoveryMs = 0 }: Findings): string[] {
  return [
    ...lateness(answerMs > slowestAnswerMs, `an answer took ${Math.round(answerMs)} ms`),
    ...lateness(recoveryMs > recoverWithinMs, `it took ${Math.round(recoveryMs)} ms to recover`),
  ]
}

function callsUnderWay({ provider }: Phase): number {
  return provider.calls.filter(({ closedAt }) => closedAt === undefined).length
}

/** From now on every request is refused. */
export function struck(phase: Phase): void {
  phase.struckAt = Date.now()
  void burstWithoutKeys(phase, sendsWithoutKeys, 'apis')
}

export const redisFaults: Fault[] = [
  storeFault('redis-kill', [202], async (servers, { random }) => {
    await servers.killRedis()
    await sleep(between(random, 500, 2000))
    await servers.startRedis()
  }),
  storeFault('redis-freeze', [202], async (servers) => {
    servers.freezeRedis()
    await sleep(frozenMs)
    servers.thawRedis()
  }),
  storeFault('redis-read-only', [202], async (servers) => {
    await servers.refuseWrites()
    await sleep(frozenMs)
    await servers.takeWrites()
  }),
  storeFault('redis-flush', [202], (servers) => servers.emptyRedis()),
  storeFault('redis-aof-deleted', [202], async (servers) => {
    await servers.stopRedis()
    await servers.deleteRedisFile()
    await servers.startRedis()
  }),
]

export const postgresFaults: Fault[] = [
  storeFault('postgres-stop', [202, 503], async (servers, phase) => {
    await servers.crashPostgres()
    struck(phase)
    await sleep(postgresDownMs)
    await servers.startPostgres()
  }),
  storeFault('postgres-freeze', [202, 503], async (servers, phase) => {
    servers.freezePostgres()
    struck(phase)
    await sleep(frozenMs)
    servers.thawPostgres()
  }),
]

/** Redis comes back first: its jobs' locks expire while no worker can read the claims. */
export const bothStores: Fault = storeFault('both-stores', [202, 503], async (servers, phase) => {
  await eventually('sends are in flight', async () => callsUnderWay(phase) > 0)
  phase.notes.push(`${callsUnderWay(phase)} calls under way`)
  await Promise.all([servers.killRedis(), servers.crashPostgres()])
  struck(phase)
  await sleep(bothDownMs)
  await servers.startRedis()
  await sleep(onlyPostgresDownMs)
  await servers.startPostgres()
})
