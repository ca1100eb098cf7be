import { setTimeout as sleep } from 'node:timers/promises'
import { between, pick } from '../../support/random.ts'
import type { Member } from '../fleet.ts'
import { storeFault } from './stores.ts'

const steps = 8
const farthestMs = 600_000

/** Sets the clocks of APIs and workers back and forward by up to ten minutes under load, and finally right. */
export const clockSteps = storeFault('clock-steps', [202], async (_servers, { world, random, notes }) => {
  const { fleet, clocks } = world
  const set = ({ pid }: Member, aheadMs: number) => clocks.set(pid, Math.round(aheadMs))
  for (let step = 0; step < steps; step++) {
    // Alternates between back and forward, so that every run has both.
    const sign = step % 2 === 0 ? -1 : 1
    await set(pick(random, fleet.apis()), sign * between(random, 1000, farthestMs))
    await set(pick(random, fleet.workers()), sign * between(random, 1000, farthestMs))
    await sleep(between(random, 200, 500))
  }
  await Promise.all([...fleet.apis(), ...fleet.workers()].map((member) => set(member, 0)))
  notes.push(`${2 * steps} clocks set, by up to ${farthestMs / 1000} s`)
})
