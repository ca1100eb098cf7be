import { randomInt } from 'node:crypto'
import { expect, test } from 'vitest'
import type { Scale } from './fault.ts'
import { faults } from './faults/index.ts'
import { runChaos } from './run.ts'

const scale: Scale = {
  workerKills: 3,
  apiKills: 2,
  restarts: 2,
  keys: 20,
  requestsPerKey: 20,
  storeSeconds: 5,
  freezeSeconds: 11,
}

/** Side by side, since most of the time is spent waiting for leases to lapse. */
const ofProcesses = ['worker-kill', 'api-kill', 'poison', 'rolling-restarts', 'same-key']
const groups = {
  processes: faults.filter(({ name }) => ofProcesses.includes(name)),
  stores: faults.filter(({ name }) => !ofProcesses.includes(name)),
}

test.concurrent.each(['processes', 'stores'] as const)(
  'no send is lost, doubled or stuck: %s',
  async (group) => {
    const seed = randomInt(1_000_000)
    const results = await runChaos({
      seed,
      sends: 1000,
      faults: groups[group],
      scale,
      providerTimeoutSeconds: 5,
      tell: () => {},
    })
    const violations = results.filter((result) => result.violations.length > 0)
    expect(violations, `npm run chaos -- --seed ${seed}`).toEqual([])
  },
  240_000,
)
