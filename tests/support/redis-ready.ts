import type { TestService } from './service.ts'
import { eventually } from './wait.ts'

/** Until then the process counts for itself. */
export async function redisReady({ api }: TestService): Promise<void> {
  await eventually('Redis', async () => api.shards.every(({ redis }) => redis.status === 'ready'))
}
