import { setTimeout as sleep } from 'node:timers/promises'
import { downAfterMs, type SentinelServers, startSentinelServers } from '../../support/sentinels.ts'
import { eventually } from '../../support/wait.ts'
import { type Fault, type Findings, type Scale, uncertainAtAll } from '../fault.ts'
import { type Phase, recoveriesMs, statusesOf } from '../phase.ts'
import { otherStatuses } from './api.ts'
import { loadElsewhere, slowAnswers, slowRecovery, standstill } from './elsewhere.ts'

const perSecond = 200
const calledAgainWithinMs = 8000
/** Limit for each send: a job that was taken before may have to wait until its lock lapses. */
const recoverWithinMs = 15_000
const undisturbedMs = 3000

/**
 * Strikes the Redis that Sentinels watch. Recovery counts from when they take it for down.
 *
 * @param awayMs how long there is no master, at the least.
 */
function sentinelFault(
  name: string,
  times: (scale: Scale) => number,
  awayMs: (scale: Scale) => number,
  strike: (servers: SentinelServers, phase: Phase, scale: Scale) => Promise<void>,
): Fault {
  return {
    name,
    share: 0,
    times,
    async strike(phase, scale) {
      await loadElsewhere(
        phase,
        await startSentinelServers(phase.world.reaper),
        perSecond,
        async (servers) => {
          for (let count = 0; count < times(scale); count++) {
            await sleep(undisturbedMs)
            await strike(servers, phase, scale)
            await sleep(undisturbedMs)
          }
        },
      )
    },
    reach: (phase, findings, scale) => [
      ...noteStragglers(phase, findings),
      ...otherStatuses(statusesOf(phase), [202]),
      ...uncertainAtAll(phase, findings),
      ...slowAnswers(findings.slowestAnswerMs),
      ...slowRecovery(findings.slowestRecoveryMs, recoverWithinMs),
      ...standstill(phase, awayMs(scale) + calledAgainWithinMs),
    ],
  }
}

/** Sends that were called later than new ones were. */
function noteStragglers(phase: Phase, { rows }: Findings): [] {
  const late = recoveriesMs(phase, rows).filter((ms) => ms > calledAgainWithinMs)
  phase.notes.push(`${late.length} sends were called later than ${calledAgainWithinMs} ms after down-after`)
  return []
}

async function switchOver(servers: SentinelServers, phase: Phase): Promise<void> {
  phase.faultsOver.push(Date.now() + downAfterMs)
  await eventually('Sentinel has switched', servers.hasSwitched)
  await servers.restore()
}

export const sentinelFaults: Fault[] = [
  sentinelFault(
    'sentinel-kill',
    ({ failovers }) => failovers,
    () => downAfterMs,
    async (servers, phase) => {
      await servers.killMaster()
      await switchOver(servers, phase)
    },
  ),
  sentinelFault(
    'sentinel-freeze',
    ({ failovers }) => failovers,
    () => downAfterMs,
    async (servers, phase) => {
      await servers.freezeMaster()
      await switchOver(servers, phase)
    },
  ),
  sentinelFault(
    'sentinel-all-away',
    () => 1,
    ({ awaySeconds }) => awaySeconds * 1000,
    async (servers, phase, { awaySeconds }) => {
      servers.freezeAll()
      await sleep(awaySeconds * 1000)
      servers.thawAll()
      phase.faultsOver.push(Date.now() + downAfterMs)
      await sleep(downAfterMs + calledAgainWithinMs)
    },
  ),
]
