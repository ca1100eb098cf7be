import { onCluster } from '../../support/on-cluster.ts'

onCluster('workers/fairness', 'workers/media-fairness', 'workers/overflow', 'workers/sandbox')
