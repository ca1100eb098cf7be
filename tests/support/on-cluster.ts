import { describe } from 'vitest'

/**
 * Runs test files of the pipelines again, by their paths below tests/, with stores that have a Redis Cluster. Not for those
 * that look into the queue of one shard, or that put a proxy before one Redis.
 */
export function onCluster(...files: string[]): void {
  for (const file of files)
    describe(file, async () => {
      await import(/* @vite-ignore */ `../${file}.test.ts`)
    })
}
