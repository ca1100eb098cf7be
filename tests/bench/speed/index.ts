import type { Benchmark, Result } from '../benchmark.ts'
import { accept } from './accept.ts'
import { batch } from './batch.ts'
import { callbacks } from './callbacks.ts'
import type { Case } from './case.ts'
import { dispatch } from './dispatch.ts'
import { growth, growthCurve } from './growth.ts'
import { latency } from './latency.ts'
import { list } from './list.ts'
import { load } from './load.ts'
import { lone } from './lone.ts'
import { media } from './media.ts'
import { mediaDispatch } from './media-dispatch.ts'
import { receipts } from './receipts.ts'
import { redisMemory } from './redis-memory.ts'
import { scheduled } from './scheduled.ts'
import { full, quick } from './sizes.ts'
import { suppressions } from './suppressions.ts'

const cases: readonly Case[] = [
  accept,
  dispatch,
  lone,
  receipts,
  callbacks,
  latency,
  redisMemory,
  media,
  mediaDispatch,
  growth,
  growthCurve,
  batch,
  scheduled,
  list,
  suppressions,
  load,
]

/** The speed of the service, compared with the usual implementation and with its parts alone. */
export const speed: Benchmark = {
  names: cases.map(({ name }) => name),
  async run({ runs, isQuick, isChosen, print }) {
    const sizes = isQuick ? quick : full
    const results: Result[] = []
    for (const { name, measure } of cases) {
      if (isChosen(name)) results.push(...(await measure({ runs, sizes, print })))
    }
    return { conditions: 'load, service, PostgreSQL, Redis and provider share this machine', results }
  },
}
