import { onCluster } from '../../support/on-cluster.ts'

onCluster(
  'api/202-accepted',
  'api/429-too-many-requests.slow',
  'api/idempotency-rate-limit.slow',
  'workers/breakers.slow',
  'workers/dispatch',
  'workers/expiry.slow',
  'workers/faults.slow',
  'workers/held-channels.slow',
  'workers/leases',
  'workers/retention.slow',
)
