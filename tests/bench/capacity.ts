import type { Post } from './post.ts'
import { inTurn, openAccounts, openChannels } from './senders.ts'
import { openStage, type StageOptions } from './stage.ts'
import { dispatchThroughput, throughputOfAll } from './throughput.ts'

/** The capacity of this machine with one API, one worker and a provider that answers at once, in sends per second. */
export interface Capacity {
  /** For sends that were recorded before. */
  dispatch: number
  /** For sends that are accepted and dispatched at the same time. */
  whole: number
  /**
   * The load for measurements of latency: a quarter of the lower one, because at full speed many sends share a statement, and
   * each costs less than under a steady load.
   */
  load: number
}

interface CapacityOptions extends StageOptions {
  /** They share the sends. If there are few, most sends are overflow (docs/explanation/delivery.md#fairness). */
  accounts?: number
  /** The provider's path, which determines how it answers. */
  path?: string
  messageOf?: (index: number) => Pick<Post, 'message'>
}

export async function measureCapacity(
  sends: number,
  { accounts = 20, path = '/accept/capacity', messageOf = () => ({}), ...store }: CapacityOptions = {},
): Promise<Capacity> {
  const stage = await openStage(store)
  try {
    const senders = await openChannels(await openAccounts(stage, accounts), path)
    const posts = inTurn(senders, sends / accounts).map((post, index) => ({ ...post, ...messageOf(index) }))
    const dispatch = await dispatchThroughput(stage, posts)
    const whole = await throughputOfAll(stage, posts)
    return { dispatch, whole, load: Math.min(dispatch, whole) / 4 }
  } finally {
    await stage.close()
  }
}
