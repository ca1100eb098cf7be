import { beat } from '../../db/delivery/leases.ts'
import type { Heartbeat } from '../../workers/upkeep/heartbeat.ts'
import type { TestService } from './service.ts'

const leaseMs = 3_600_000

/** A worker that counts as alive for as long as a test lasts, without a process of its own. */
export async function livingWorker(service: TestService, worker: string): Promise<Heartbeat> {
  await beat(service.runtime.db, worker, leaseMs)
  return {
    worker,
    begun: Promise.resolve(),
    holdsLease: () => true,
    maySweep: () => true,
    sweepsUntil: () => new Date('2100-01-01'),
    stop: async () => {},
  }
}
