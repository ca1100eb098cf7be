import { onCluster } from '../../support/on-cluster.ts'

onCluster('workers/fairness.slow', 'workers/media-fairness', 'workers/overflow.slow', 'workers/sandbox')
