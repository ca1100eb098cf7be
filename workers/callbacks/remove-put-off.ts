import { logWarningOnceAMinute } from '../../src/platform/logger.ts'
import { removeEndpointWakeUp } from '../../src/queue/shard.ts'
import type { Needs } from '../../src/runtime.ts'

/**
 * Removes the wake-up of an endpoint that is called, although some worker has put it off. Otherwise it would come again in vain, and
 * no wake-up that is due earlier could be added. One that is needed is added after its calls.
 */
export async function removePutOff(
  { log, shards }: Needs<'log' | 'shards'>,
  endpointId: string,
): Promise<void> {
  await removeEndpointWakeUp(shards, endpointId).catch((error: unknown) =>
    logWarningOnceAMinute(log, 'put_off_not_removed', error),
  )
}
