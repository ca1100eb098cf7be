import { onCluster } from '../../support/on-cluster.ts'

onCluster(
  'workers/conversations',
  'workers/lane-heads',
  'workers/lanes',
  'workers/limited-lanes',
  'workers/long-lanes',
  'workers/webhook-conversations',
)
