import { onCluster } from '../../support/on-cluster.ts'

onCluster('workers/max-in-flight', 'workers/rates', 'workers/unused-permits')
