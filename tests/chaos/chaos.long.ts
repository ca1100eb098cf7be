import { expect, test } from 'vitest'
import { faults } from './faults/index.ts'
import { report } from './report.ts'
import { runChaos } from './run.ts'
import { scaleOf } from './scale.ts'

const sends = 10_000

test.each([1, 2, 3])(
  `no send of ${sends} is lost, doubled or stuck: seed %i`,
  async (seed) => {
    const results = await runChaos({
      seed,
      sends,
      faults,
      scale: scaleOf(sends),
      providerTimeoutSeconds: 15,
      print: () => {},
    })
    console.log(report(results))
    const violations = results.filter((result) => result.violations.length > 0)
    expect(violations, `npm run chaos -- --seed ${seed} --sends ${sends}`).toEqual([])
  },
  1_200_000,
)
