import { expect, test } from 'vitest'
import { isOfTime } from '../../chaos/fault.ts'
import { faultsOn } from '../../chaos/faults/index.ts'
import { runChaos } from '../../chaos/run.ts'
import { short } from '../../chaos/scale.ts'
import { StoodStill } from '../../support/standstill.ts'

/** Of an answer's deadline a fifth. */
const notableMs = 200

/** Side by side, since most of the time is spent waiting for leases to lapse. */
const ofProcesses = ['worker-kill', 'api-kill', 'poison', 'rolling-restarts', 'same-key']
/** Their tests are of their own: sentinel.test.ts. */
const faults = faultsOn.redis.filter(({ name }) => !name.startsWith('sentinel-'))
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
    const results = await runChaos({ ...short, store: 'redis', faults: groups[group], print: () => {} })
    const all = results.flatMap(({ fault, violations, stoodStillMs }) =>
      violations.map((what) => ({ what, stoodStillMs, line: `${fault}: ${what}` })),
    )
    const lines = all.map(({ line }) => line).join('\n')
    const isTimeAlone = all.every(({ what, stoodStillMs }) => isOfTime(what) && stoodStillMs > notableMs)
    if (all.length > 0 && isTimeAlone) throw new StoodStill(lines)
    expect(lines, `${lines}\n${again}`).toBe('')
  },
)
