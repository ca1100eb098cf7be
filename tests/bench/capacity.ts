import { inTurn, openAccounts, openChannels } from './senders.ts'
import { openStage } from './stage.ts'
import { dispatchThroughput, throughputOfAll } from './throughput.ts'

/** What this machine can do with one API and one worker, and a provider that answers at once; in sends per second. */
export interface Capacity {
  /** Of sends that were recorded before. */
  dispatch: number
  /** Accepted and dispatched at the same time. */
  whole: number
  /**
   * What is put on it where latencies are measured: a quarter of the lower one. At full speed many sends share a
   * statement, so that each costs less than it does under a steady load.
   */
  load: number
}

/** @param accounts that share the sends: with few of them, most sends are overflow (docs/explanation/delivery.md#fairness). */
export async function measureCapacity(sends: number, accounts = 20): Promise<Capacity> {
  const stage = await openStage()
  try {
    const senders = await openChannels(await openAccounts(stage, accounts), '/accept/capacity')
    const posts = inTurn(senders, sends / accounts)
    const dispatch = await dispatchThroughput(stage, posts)
    const whole = await throughputOfAll(stage, posts)
    return { dispatch, whole, load: Math.min(dispatch, whole) / 4 }
  } finally {
    await stage.close()
  }
}
