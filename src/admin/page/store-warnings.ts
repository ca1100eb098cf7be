import { causeLine, redisCauses } from '../../core/store-causes.ts'
import { readEviction } from '../../platform/redis/eviction.ts'
import { askRedis } from '../../platform/redis/health.ts'
import { type AdminRuntime, factory } from '../context.ts'

/** The stores are asked at most once in this time, however many pages are opened. */
const freshForMs = 5000

/** Gives each page the reason why a store can't be used, or its fault: without it, an operator would look for the fault elsewhere. */
export function storeWarnings(runtime: AdminRuntime) {
  let freshUntil = Number.NEGATIVE_INFINITY
  let known: Promise<readonly string[]> = Promise.resolve([])
  return factory.createMiddleware(async (c, next) => {
    if (performance.now() > freshUntil) {
      freshUntil = performance.now() + freshForMs
      known = readWarnings(runtime)
    }
    c.set('storeWarnings', await known)
    await next()
  })
}

async function readWarnings({ database, shards, metrics }: AdminRuntime): Promise<readonly string[]> {
  const [causes] = await Promise.all([
    Promise.all([database.causeForWrites(), ...shards.map(askRedis)]),
    ...shards.map((shard) => readEviction(shard, metrics)),
  ])
  const { values } = await metrics.redisEvicts.get()
  if (values.some(({ value }) => value === 1)) causes.push(redisCauses.evicts)
  const lines = causes.flatMap((cause) => (cause ? [`${causeLine(cause)}.`] : []))
  return [...new Set(lines)]
}
