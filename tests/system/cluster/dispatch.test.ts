import { onCluster } from '../../support/on-cluster.ts'

onCluster(
  'api/202-accepted',
  'api/429-too-many-requests',
  'api/idempotency-rate-limit',
  'workers/breakers',
  'workers/dispatch',
  'workers/expiry',
  'workers/faults',
  'workers/held-channels',
  'workers/leases',
  'workers/retention',
)
