import { LRUCache } from 'lru-cache'
import { oneInTen } from '../../../src/core/sends/priority.ts'

const watchedChannels = 10_000

/** One in ten turns of a channel is a less urgent send's, so that a flood of urgent ones starves none. */
export function createTurns() {
  /** By channel, how many urgent sends went, and others in the place of one, since a less urgent one went. */
  const inARow = new LRUCache<string, number>({ max: watchedChannels })
  return {
    wentFirst: (channelId: string): void => {
      inARow.set(channelId, (inARow.get(channelId) ?? 0) + 1)
    },
    /** Takes the turn of a less urgent send, if it is its turn: then the count begins again. */
    takeLessUrgent: (channelId: string): boolean => {
      if ((inARow.get(channelId) ?? 0) < oneInTen - 1) return false
      inARow.delete(channelId)
      return true
    },
  }
}
