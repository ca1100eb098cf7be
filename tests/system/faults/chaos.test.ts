import { expect, test } from 'vitest'
import { faults } from '../../chaos/faults/index.ts'
import { runChaos } from '../../chaos/run.ts'
import { short } from '../../chaos/scale.ts'

/** Side by side, since most of the time is spent waiting for leases to lapse. */
const ofProcesses = ['worker-kill', 'api-kill', 'poison', 'rolling-restarts', 'same-key']
const groups = {
  processes: faults.filter(({ name }) => ofProcesses.includes(name)),
  stores: faults.filter(({ name }) => !ofProcesses.includes(name)),
}

test.concurrent.for(['processes', 'stores'] as const)(
  'no send is lost, doubled or stuck: %s',
  { timeout: 300_000 },
  async (group, { onTestFailed }) => {
    const names = groups[group].map(({ name }) => name).join(',')
    const again = `npm run chaos -- --short --seed ${short.seed} --sends ${short.sends} --faults ${names}`
    onTestFailed(() => console.error(`Again with: ${again}`))
    const results = await runChaos({ ...short, faults: groups[group], tell: () => {} })
    const violations = results.flatMap(({ fault, violations }) => violations.map((one) => `${fault}: ${one}`))
    expect(violations.join('\n'), again).toBe('')
  },
)
