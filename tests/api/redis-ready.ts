import type { TestService } from '../support/service.ts'
import { eventually } from '../support/wait.ts'

/** Until then the process counts for itself. */
export async function redisReady({ runtime }: TestService): Promise<void> {
  await eventually('Redis', async () => runtime.redis.status === 'ready')
}
