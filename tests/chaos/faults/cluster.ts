import { setTimeout as sleep } from 'node:timers/promises'
import { clusterSlots, slotOfKey } from '../../../src/platform/redis/key-slot.ts'
import { shardOfSend, shardPrefixes } from '../../../src/platform/redis/shard-names.ts'
import { percentile } from '../../bench/figures.ts'
import { groupBy } from '../../support/group-by.ts'
import { type ClusterServers, startClusterServers } from '../../support/redis-cluster.ts'
import { eventually } from '../../support/wait.ts'
import { type Fault, type Findings, lateness, uncertainAtAll } from '../fault.ts'
import { type Phase, statusesOf } from '../phase.ts'
import { otherStatuses } from './api.ts'
import { loadElsewhere, slowAnswers, slowRecovery } from './elsewhere.ts'

const shardCount = 3
/** A master, and the shard that it has. */
const victim = 1
const perSecond = 100
const undisturbedMs = 3000
const frozenForMs = 8000
const recoverWithinMs = 6000
const othersWithinMs = 1000

/** Strikes a master of a Cluster, of which each master has a replica. */
function clusterFault(name: string, strike: (servers: ClusterServers, phase: Phase) => Promise<void>): Fault {
  const struck = { from: 0, until: 0 }
  return {
    name,
    share: 0,
    times: () => 1,
    async strike(phase) {
      await loadElsewhere(
        phase,
        await startClusterServers(phase.world.reaper),
        perSecond,
        async (servers) => {
          await sleep(undisturbedMs)
          struck.from = Date.now()
          await strike(servers, phase)
          await sleep(recoverWithinMs)
          struck.until = Date.now()
        },
      )
    },
    reach: (phase, findings) => [
      ...otherStatuses(statusesOf(phase), [202]),
      ...uncertainAtAll(phase, findings),
      ...slowAnswers(findings.slowestAnswerMs),
      ...slowRecovery(findings.slowestRecoveryMs, recoverWithinMs),
      ...slowOthers(phase, findings, struck),
    ],
  }
}

/** From the accept to the call, of sends whose shard was never away, while another was. */
function slowOthers(
  { provider, notes }: Phase,
  { rows }: Findings,
  struck: { from: number; until: number },
): string[] {
  const callsOf = groupBy(provider.calls, ({ requestId }) => requestId)
  const delays = rows
    .filter(({ acceptedAt }) => struck.from < acceptedAt && acceptedAt < struck.until)
    .filter(({ requestId }) => shardOfSend(requestId, shardCount) !== victim)
    .map(({ requestId, acceptedAt }) => (callsOf.get(requestId)?.[0]?.arrivedAt ?? Infinity) - acceptedAt)
  const p99 = Math.round(percentile(delays, 0.99))
  notes.push(`p99 of the other shards ${p99} ms`)
  return lateness(p99 > othersWithinMs, `the p99 of the other shards was ${p99} ms`)
}

async function failedOver(servers: ClusterServers, phase: Phase): Promise<void> {
  const struckAt = performance.now()
  await eventually('its replica has taken over', () => servers.hasFailedOver(victim))
  phase.faultsOver.push(Date.now())
  phase.notes.push(`its replica took over after ${Math.round(performance.now() - struckAt)} ms`)
}

const slotsFrom = (first: number, count: number) => Array.from({ length: count }, (_, nr) => first + nr)

export const clusterFaults: Fault[] = [
  clusterFault('cluster-kill', async (servers, phase) => {
    servers.killMaster(victim)
    await failedOver(servers, phase)
  }),
  clusterFault('cluster-freeze', async (servers, phase) => {
    const back = sleep(frozenForMs).then(() => servers.thawMaster(victim))
    servers.freezeMaster(victim)
    await failedOver(servers, phase)
    await back
    phase.faultsOver.push(Date.now())
  }),
  clusterFault('cluster-slots-moved', async (servers, phase) => {
    const third = Math.floor(clusterSlots / shardCount)
    await servers.moveSlots(slotsFrom(victim * third + 1, third - 1), victim, 0)
    phase.faultsOver.push(Date.now())
  }),
  clusterFault('cluster-master-added', async (servers, phase) => {
    const added = await servers.addMaster()
    const fromEach = Math.floor(clusterSlots / shardCount / (shardCount + 1))
    for (const [master, prefix] of shardPrefixes(shardCount).entries()) {
      // The victim's with the slot of its shard.
      const first = master === victim ? slotOfKey(prefix) : slotOfKey(prefix) + 1
      await servers.moveSlots(slotsFrom(first, fromEach), master, added)
    }
    phase.faultsOver.push(Date.now())
  }),
]
