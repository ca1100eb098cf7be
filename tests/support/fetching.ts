import type { MediaFetcher } from '../../workers/http/media-fetcher.ts'
import type { Moved } from '../../workers/http/time-limit.ts'
import { openMediaMemory } from '../../workers/sends/dispatch/media-memory.ts'

/** A fetcher with a worker's memory budget, whose content is no longer needed as soon as it has come. */
export function withMemory(fetcher: MediaFetcher, budget = openMediaMemory()) {
  return {
    async fetch({ url, owner }: { url: string; owner: string }, signal: AbortSignal, moved?: Moved) {
      const memory = budget.reservationFor(owner)
      try {
        return await fetcher.fetch({ url, memory }, signal, moved)
      } finally {
        memory.release()
      }
    },
    stop: () => fetcher.stop(),
    close: () => fetcher.close(),
  }
}
