import { Deadline } from '../deadline.ts'
import type { Metrics } from '../metrics.ts'
import type { RedisShard } from './shard.ts'

const answerWithinMs = 1000

/** Reads again whether Redis may drop keys: its operator may change that while it runs. Without an answer, the metric stays. */
export async function readEviction(
  { redis, name }: Pick<RedisShard, 'redis' | 'name'>,
  metrics: Pick<Metrics, 'redisEvicts'>,
): Promise<void> {
  const asking = redis.status === 'ready' ? redis.info('memory') : Promise.resolve('')
  showEviction(await new Deadline(answerWithinMs, 'Redis').spend(asking).catch(() => ''), name, metrics)
}

/** @returns the policy by which Redis may drop keys; undefined if it drops none, or doesn't say. */
export function showEviction(
  info: string,
  shard: string,
  { redisEvicts }: Pick<Metrics, 'redisEvicts'>,
): string | undefined {
  const [, policy] = /^maxmemory_policy:(.*?)\r?$/m.exec(info) ?? []
  if (policy === undefined) return undefined
  const evicts = policy !== 'noeviction'
  redisEvicts.set({ shard }, evicts ? 1 : 0)
  return evicts ? policy : undefined
}
