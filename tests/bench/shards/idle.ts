import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSecondsOf } from '../cpu-time.ts'
import { openStage } from '../stage.ts'
import { startWarmWorker } from '../warm-up.ts'

export const full = { settleSeconds: 15, seconds: 30 }
export const quick = { settleSeconds: 5, seconds: 5 }

/**
 * How much of a core a worker uses that has nothing to do any more, in percent: with one Redis, or a Cluster of so many masters
 * and shards. Just after its start, or after work, it still compiles its code and clears garbage.
 */
export async function idlePercent(masters: number, { settleSeconds, seconds }: typeof full): Promise<number> {
  const stage = await openStage(masters === 1 ? {} : { masters })
  try {
    await startWarmWorker(stage)
    const [worker] = stage.workers()
    const used = () => cpuSecondsOf(worker?.pid ?? Number.NaN)
    await sleep(settleSeconds * 1000)
    const before = await used()
    await sleep(seconds * 1000)
    const usedSeconds = (await used()) - before
    if (!(usedSeconds > 0)) throw new Error('the worker has ended')
    return usedSeconds * (100 / seconds)
  } finally {
    await stage.close()
  }
}
