import { setTimeout as sleep } from 'node:timers/promises'
import { load } from '../clients.ts'
import { type Fault, uncertainAtAll } from '../fault.ts'
import { type Phase, settle, statusesOf } from '../phase.ts'
import { otherStatuses } from './api.ts'
import { standstill } from './elsewhere.ts'

const perSecond = 50
const undisturbedMs = 3000
/** The first and the last are those of the world. */
const counts = [3, 6, 4, 3]
const longestStandstillMs = 3000

/** The number of shards changes, as docs/how-to/shard-the-queue.md says. */
export const shardsChanged: Fault = {
  name: 'shards-changed',
  share: 0,
  times: () => counts.length - 1,
  async strike(phase) {
    await load(phase, { count: 0, seconds: 0, perSecond, during: change(phase) })
    await settle(phase)
  },
  reach: (phase, findings) => [
    ...otherStatuses(statusesOf(phase), [202]),
    ...uncertainAtAll(phase, findings),
    ...standstill(phase, longestStandstillMs),
  ],
}

async function change({ world: { fleet } }: Phase): Promise<void> {
  for (const [index, count] of counts.slice(1).entries()) {
    await sleep(undisturbedMs)
    await fleet.restartWith({ QUEUE_SHARDS: `${count}`, QUEUE_SHARDS_PREVIOUS: `${counts[index]}` }, [
      'worker',
    ])
    await fleet.restartWith({}, ['api'])
    await sleep(undisturbedMs)
    await fleet.restartWith({ QUEUE_SHARDS_PREVIOUS: '' }, ['worker'])
  }
  await sleep(undisturbedMs)
}
