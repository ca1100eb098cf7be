import { createDeliver } from '../../workers/deliver.ts'
import type { Senders } from '../../workers/providers/index.ts'
import { createPermits } from '../../workers/sends/claim/permits.ts'
import { livingWorker } from './living-worker.ts'
import type { TestService } from './service.ts'

/** How a living worker of this name follows a wake-up: the whole way of a send, by the send's id. */
export async function deliverAs(service: TestService, worker: string, senders: Senders) {
  const heartbeat = await livingWorker(service, worker)
  return createDeliver(service.runtime, { senders, heartbeat, permits: createPermits(service.runtime) })
}
