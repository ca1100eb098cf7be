import { readMedia } from '../../../db/delivery/media-content.ts'
import { longestWaitForMemoryMs } from '../../../src/core/sends/delivery-times.ts'
import type { Reservation } from '../../../src/platform/memory/memory-budget.ts'
import { NotAcquired, Semaphore } from '../../../src/platform/memory/semaphore.ts'
import { retryUntilAvailable } from '../../../src/platform/retry-until-available.ts'
import type { Needs } from '../../../src/runtime.ts'

export const maxReads = 4

/** How many of the worker's connections to PostgreSQL may read media at a time: the others are for claims and outcomes. */
export function mediaReadsOf(poolSize: number): number {
  return Math.max(1, Math.min(maxReads, Math.floor(poolSize / 2)))
}

interface StoredMedia {
  requestId: string
  accountId: string
  sizeBytes: number
}

/**
 * Loads the content of media that was sent as base64, when there is memory for it.
 *
 * @returns undefined if it was removed, `no_memory` if none became free in time.
 */
export function createLoadMedia({ db, log, settings }: Needs<'db' | 'log', 'DATABASE_POOL_SIZE'>) {
  const units = mediaReadsOf(settings.DATABASE_POOL_SIZE)
  const reads = new Semaphore({ units, unitsOfOwner: units })
  const read = retryUntilAvailable(log, (media: StoredMedia) => readMedia(db, media))

  return async (media: StoredMedia, memory: Reservation): Promise<Buffer | undefined | 'no_memory'> => {
    try {
      await memory.reserve(media.sizeBytes)
      const release = await reads.acquire({ units: 1, owner: media.accountId }, longestWaitForMemoryMs)
      return await read(media).finally(release)
    } catch (error) {
      if (error instanceof NotAcquired) return 'no_memory'
      throw error
    }
  }
}
