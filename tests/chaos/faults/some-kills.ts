import { setTimeout as sleep } from 'node:timers/promises'
import { between, pick } from '../../support/random.ts'
import type { Scale } from '../fault.ts'
import type { Phase } from '../phase.ts'
import { endSlowStart, killWorker, youngest } from './workers.ts'

const ofWorkers = ({ workerKills }: Scale) => Math.ceil(workerKills / 4)

export const killsOf = (scale: Scale): number => ofWorkers(scale) + scale.apiKills

/** Kills workers and then APIs, one after the other, and replaces each. For faults in which the kills are not all that strikes. */
export async function killSome(phase: Phase, scale: Scale): Promise<void> {
  const { random, world } = phase
  for (let kill = 0; kill < ofWorkers(scale); kill++) {
    await sleep(between(random, 300, 1000))
    await endSlowStart(world)
    await killWorker(phase, youngest(world))
    await world.fleet.complete()
  }
  for (let kill = 0; kill < scale.apiKills; kill++) {
    await sleep(between(random, 300, 800))
    await world.fleet.kill(pick(random, world.fleet.apis()))
    await world.fleet.complete()
  }
}
