import { onCluster } from '../../support/on-cluster.ts'

onCluster('workers/max-in-flight.slow', 'workers/rates.slow', 'workers/unused-permits')
