import type { Fault } from '../fault.ts'
import type { StoreKind } from '../world.ts'
import { apiKill, rollingRestarts, sameKey } from './api.ts'
import { callbacks } from './callbacks.ts'
import { clockSteps } from './clocks.ts'
import { clusterFaults } from './cluster.ts'
import { fallbacks } from './fallbacks.ts'
import { postgresHalfOpen, redisHalfOpen } from './half-open.ts'
import { cancelAtDue, dueTogether } from './later.ts'
import { poison } from './poison.ts'
import { providerFaults } from './provider.ts'
import { receipts } from './receipts.ts'
import { sentinelFaults } from './sentinel.ts'
import { shardsChanged } from './shards.ts'
import { bothStores, postgresFaults, redisFaults } from './stores.ts'
import { suppressions } from './suppressions.ts'
import { workerFreeze, workerKill } from './workers.ts'

const ofProcesses = [workerKill, workerFreeze, apiKill, receipts, callbacks, fallbacks, suppressions]
const ofOthers = [clockSteps, providerFaults, poison, rollingRestarts, sameKey, cancelAtDue]

/** The faults that can strike with each kind of Redis. */
export const faultsOn: Record<StoreKind, readonly Fault[]> = {
  redis: [
    ...ofProcesses,
    ...redisFaults,
    ...postgresFaults,
    redisHalfOpen,
    postgresHalfOpen,
    bothStores,
    ...sentinelFaults,
    ...ofOthers,
    dueTogether,
  ],
  cluster: [
    ...ofProcesses,
    ...postgresFaults,
    postgresHalfOpen,
    ...clusterFaults,
    shardsChanged,
    ...ofOthers,
  ],
}
