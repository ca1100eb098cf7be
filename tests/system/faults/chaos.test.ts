import { expect, test } from 'vitest'
import { type Fault, isOfTime } from '../../chaos/fault.ts'
import { faultsOn } from '../../chaos/faults/index.ts'
import { runChaos } from '../../chaos/run.ts'
import { short } from '../../chaos/scale.ts'
import { StoodStill } from '../../support/standstill.ts'

/** A fifth of an answer's deadline. */
const notableMs = 200

/** Faults of Sentinels have a test of their own: sentinel.test.ts. */
const faults = faultsOn.redis.filter(({ name }) => !name.startsWith('sentinel-'))
const ofRedisAndPoison = /^(redis-.*|poison)$/
const ofProcesses =
  /^(worker-.*|api-kill|rolling-restarts|same-key|receipts|callbacks|fallbacks|suppressions)$/
const isOf =
  (names: RegExp) =>
  ({ name }: Fault) =>
    names.test(name)
const isOfOthers = (fault: Fault) => !isOf(ofRedisAndPoison)(fault) && !isOf(ofProcesses)(fault)
/** Side by side, since most of the time is spent waiting, such as for leases to lapse. All take about as long. */
const groups = {
  'Redis and poison': faults.filter(isOf(ofRedisAndPoison)),
  processes: faults.filter(isOf(ofProcesses)),
  'PostgreSQL, provider and clocks': faults.filter(isOfOthers),
}
type Group = keyof typeof groups

test.concurrent.for(Object.keys(groups) as Group[])(
  'no send is lost, doubled or stuck: %s',
  { timeout: 600_000 },
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
