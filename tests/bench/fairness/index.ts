import type { Benchmark, Result } from '../benchmark.ts'
import { measureCapacity } from '../capacity.ts'
import { openStage, type StageOptions } from '../stage.ts'
import { backlog } from './backlog.ts'
import { besideFlood } from './beside-flood.ts'
import type { Case, Conditions } from './case.ts'
import { faulty } from './faulty.ts'
import { flood } from './flood.ts'
import { hung } from './hung.ts'
import { lane } from './lane.ts'
import { order } from './order.ts'
import { price } from './price.ts'
import { full, quick } from './sizes.ts'

const cases: readonly Case[] = [backlog, flood, hung, ...besideFlood, ...faulty, order, lane, price]

/** The effect of one account, channel or contact on the others, and the cost of their separation. */
export const fairness: Benchmark = {
  names: cases.map(({ name }) => name),
  async run({ runs, masters, isQuick, isChosen, print }) {
    const store = masters === undefined ? {} : { masters }
    const sizes = isQuick ? quick : full
    const { dispatch, whole, load } = await measureCapacity(sizes.capacity, store)
    const on = masters === undefined ? 'one Redis' : `a Cluster of ${masters} masters`
    const conditions = `on ${on}; capacity: ${dispatch.toFixed(0)}/s dispatched, ${whole.toFixed(0)}/s accepted and dispatched; load: ${load.toFixed(0)}/s`
    print(conditions)
    const results: Result[] = []
    for (const one of cases.filter(({ name }) => isChosen(name))) {
      results.push(await resultOf(one, store, { runs, sizes, load, print }))
    }
    return { conditions, results }
  },
}

async function resultOf(
  { name, reach, measure }: Case,
  store: StageOptions,
  conditions: Conditions,
): Promise<Result> {
  const stage = await openStage(store)
  try {
    return { case: name, reach, ...(await measure(stage, conditions)) }
  } finally {
    await stage.close()
  }
}
