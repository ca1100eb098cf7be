import { expect, test } from 'vitest'
import { faultsOn } from './faults/index.ts'
import { report } from './report.ts'
import { runChaos } from './run.ts'
import { scaleOf } from './scale.ts'
import type { StoreKind } from './world.ts'

const sends = 10_000

test.each<[StoreKind, number]>([
  ['redis', 1],
  ['redis', 2],
  ['redis', 3],
  ['cluster', 1],
])(
  `no send of ${sends} is lost, doubled or stuck: on %s, seed %i`,
  async (store, seed) => {
    const results = await runChaos({
      seed,
      sends,
      store,
      faults: faultsOn[store],
      scale: scaleOf(sends),
      providerTimeoutSeconds: 15,
      print: () => {},
    })
    console.log(report(results))
    const violations = results.filter((result) => result.violations.length > 0)
    expect(violations, `npm run chaos -- --seed ${seed} --sends ${sends}`).toEqual([])
  },
  1_800_000,
)
