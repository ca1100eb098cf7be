import { noneSkipped, sumOfSkipped } from '../../src/core/sends/left-out.ts'
import type { Database } from '../connection/client.ts'
import { type ReplayedSet, type ReplaySet, replayPart, type Trial, tryReplay } from './replay-sets.ts'

/** Failed or uncertain sends of several channels, one channel after the other. */
export interface ReplayList extends Omit<ReplaySet, 'channelId' | 'afterSeq' | 'lastSeq'> {
  channelIds: readonly string[]
  /** Where the part begins; undefined for the first one. */
  from?: ReplayPlace | undefined
}

/** A place in such a list: after this send of this channel. */
export interface ReplayPlace {
  channelId: string
  afterSeq: string
}

export interface ReplayedPart extends ReplayedSet {
  /** Where the next part begins; undefined if this was the last one. */
  next: ReplayPlace | undefined
}

/** Queues the next sends of a list again, at most `limit`. */
export const replayListPart = (db: Database, list: ReplayList): Promise<ReplayedPart> =>
  goThrough(list, (set) => replayPart(db, set))

/** Counts what a replay of the list would do, up to `limit`. */
export const tryReplayList = (db: Database, list: ReplayList): Promise<ReplayedPart> =>
  goThrough(list, (set) => tryReplay(db, set))

async function goThrough(
  { channelIds, from, ...list }: ReplayList,
  take: (set: ReplaySet) => Promise<Trial>,
): Promise<ReplayedPart> {
  const total: ReplayedPart = { replayed: 0, skipped: noneSkipped, next: undefined }
  const first = from ? channelIds.indexOf(from.channelId) : 0
  if (first < 0) return total
  for (const channelId of channelIds.slice(first)) {
    const afterSeq = channelId === from?.channelId ? from.afterSeq : undefined
    const limit = list.limit - total.replayed
    const replayedBefore = (list.replayedBefore ?? 0) + total.replayed
    const part = await take({ ...list, channelId, afterSeq, limit, replayedBefore })
    total.replayed += part.replayed
    total.skipped = sumOfSkipped(total.skipped, part.skipped)
    if (part.replayed === limit && part.lastSeq !== undefined)
      return { ...total, next: { channelId, afterSeq: part.lastSeq } }
  }
  return total
}
