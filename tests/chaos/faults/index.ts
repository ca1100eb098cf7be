import type { Fault } from '../fault.ts'
import { apiKill, rollingRestarts, sameKey } from './api.ts'
import { clockSteps } from './clocks.ts'
import { halfOpenFaults } from './half-open.ts'
import { cancelAtDue, dueTogether } from './later.ts'
import { poison } from './poison.ts'
import { providerFaults } from './provider.ts'
import { receipts } from './receipts.ts'
import { bothStores, postgresFaults, redisFaults } from './stores.ts'
import { workerFreeze, workerKill } from './workers.ts'

export const faults: readonly Fault[] = [
  workerKill,
  workerFreeze,
  apiKill,
  receipts,
  ...redisFaults,
  ...postgresFaults,
  ...halfOpenFaults,
  bothStores,
  clockSteps,
  providerFaults,
  poison,
  rollingRestarts,
  sameKey,
  dueTogether,
  cancelAtDue,
]
