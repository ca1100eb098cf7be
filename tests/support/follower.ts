import { openRuntime } from '../../src/runtime.ts'
import { createDeliver } from '../../workers/deliver.ts'
import { openProviders } from '../../workers/providers/index.ts'
import { InFlight } from '../../workers/queue/in-flight.ts'
import { faultsOfShards } from '../../workers/queue/queue-faults.ts'
import { startQueueWorker } from '../../workers/queue/queue-worker.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { livingWorker } from './living-worker.ts'
import type { TestService } from './service.ts'

/**
 * A worker that nothing but wake-ups brings to a send: neither reconciler nor sweeps.
 *
 * @param test whose end ends it.
 */
export async function startFollower(
  test: { onTestFinished(stop: () => Promise<void>): void },
  service: TestService,
  name = 'follower',
): Promise<void> {
  const { settings, log } = service.runtime
  const runtime = openRuntime('worker', settings, log)
  const heartbeat = await livingWorker(service, name)
  const { senders, close } = openProviders(runtime)
  const permits = createPermits(runtime)
  const inFlight = new InFlight()
  const deliver = createDeliver(runtime, { senders, heartbeat, permits, inFlight })
  const worker = startQueueWorker(runtime, deliver, { inFlight, faults: faultsOfShards(runtime.shards) })
  test.onTestFinished(async () => {
    permits.stop()
    await worker.stop()
    await close()
    await runtime.close()
  })
  await worker.ready()
}
