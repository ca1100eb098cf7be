import { onCluster } from '../../support/on-cluster.ts'

onCluster(
  'workers/conversations.slow',
  'workers/lane-heads.slow',
  'workers/lanes.slow',
  'workers/limited-lanes',
  'workers/long-lanes.slow',
  'workers/webhook-conversations',
)
