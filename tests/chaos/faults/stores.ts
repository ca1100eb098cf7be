import { setTimeout as sleep } from 'node:timers/promises'
import type { BreakableServers } from '../../support/breakable-servers.ts'
import { answer } from '../../support/webhook-receiver.ts'
import { burst, load } from '../clients.ts'
import { type Fault, violation } from '../fault.ts'
import { type Phase, statusesOf } from '../phase.ts'
import { accepts, type ProviderCall, type Treatment } from '../provider.ts'
import { between } from '../random.ts'
import { otherStatuses } from './api.ts'

const slowestAnswerMs = 1500
const frozenMs = 3000
const postgresDownMs = 5000
/** At once, so that the fault comes amid accepts and claims. */
const sendsBeforeFault = 30

const isBusy: Treatment = { name: '503', effect: 'refused', act: answer(503) }

/** A store is struck under load, and comes back. */
function storeFault(
  name: string,
  allowedStatuses: readonly number[],
  outage: (servers: BreakableServers, phase: Phase) => Promise<void>,
): Fault {
  return {
    name,
    share: 0.07,
    times: () => 1,
    async strike(phase, { storeSeconds }) {
      phase.provider.treat = slowAndOftenBusy(phase)
      const strike = async () => {
        await sleep(between(phase.random, 1000, 2000))
        const told = burst(phase, sendsBeforeFault, 'apis')
        await sleep(between(phase.random, 10, 80))
        await outage(phase.world.servers, phase)
        phase.faultsOver.push(Date.now())
        await Promise.all([told, sleep(1000)])
      }
      await load(phase, {
        count: phase.sends - sendsBeforeFault,
        seconds: storeSeconds,
        during: strike(),
        through: 'apis',
      })
    },
    reach: (phase, findings) => [
      ...otherStatuses(statusesOf(phase), allowedStatuses),
      ...violation(
        findings.slowestAnswerMs > slowestAnswerMs,
        `an answer took ${Math.round(findings.slowestAnswerMs)} ms`,
      ),
    ],
  }
}

/** So that at any moment some sends are being delivered, and some wait in Redis to be tried again. */
function slowAndOftenBusy({ random }: Phase) {
  return ({ number }: ProviderCall) =>
    sleep(between(random, 0, 400), number === 1 && random() < 0.4 ? isBusy : accepts)
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
  storeFault('redis-flush', [202], (servers) => servers.emptyRedis()),
  storeFault('redis-aof-deleted', [202], async (servers) => {
    await servers.stopRedis()
    await servers.deleteRedisFile()
    await servers.startRedis()
  }),
]

export const postgresFaults: Fault[] = [
  storeFault('postgres-stop', [202, 503], async (servers) => {
    await servers.crashPostgres()
    await sleep(postgresDownMs)
    await servers.startPostgres()
  }),
  storeFault('postgres-freeze', [202, 503], async (servers) => {
    servers.freezePostgres()
    await sleep(frozenMs)
    servers.thawPostgres()
  }),
]
