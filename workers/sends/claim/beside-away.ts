import { LRUCache } from 'lru-cache'
import { type DueSend, findDueSends } from '../../../db/delivery/due-sends.ts'
import { type GrantedPermits, type GrantTimes, grantPermits } from '../../../db/delivery/permits.ts'
import { ofSend } from '../../../src/platform/redis/shard.ts'
import { isAway, restoreOnShards, type Shard } from '../../../src/queue/shard.ts'
import type { Needs } from '../../../src/runtime.ts'

/** Limit of the due sends that one grant looks at, shared by its channels; each has at least `fewestPerChannel`. */
export const mostLookedAt = 500
const fewestPerChannel = 100
const watchedChannels = 10_000
/** After this long a search begins again with the first due send: one that it passed may be able to go now. */
export const searchAgainAfterMs = 10_000

/** Adds one due send of each shard that is away, if the channel has any. */
interface GrantedBesideAway extends GrantedPermits {
  unreachable: string[]
}

export const isOneAway = (shards: readonly Shard[]): boolean => shards.length > 1 && shards.some(isAway)

/**
 * Grants permits while some shards are away: only to sends of the others. A send that can't be woken would keep its permit unused
 * until it expires, and then get the next one: the sends of its channel that could go would get none.
 *
 * One grant looks at a page of a channel's due sends. If it can't grant all free permits there, the next grant goes on with the
 * next page, at once.
 */
export function besideAway(
  { db, shards }: Needs<'db' | 'shards'>,
  times: GrantTimes,
  againAfterMs = searchAgainAfterMs,
) {
  /** The last send of the page before, of each channel. */
  const searchedUntil = new LRUCache<string, DueSend>({ max: watchedChannels, ttl: againAfterMs })

  return async (channelIds: readonly string[]): Promise<GrantedBesideAway[]> => {
    const shardsAway = new Set(shards.filter(isAway))
    const isReachable = ({ requestId }: DueSend) => !shardsAway.has(ofSend(shards, requestId))
    const limit = Math.max(fewestPerChannel, Math.floor(mostLookedAt / channelIds.length))
    const channels = channelIds.map((channelId) => ({ channelId, after: searchedUntil.get(channelId) }))
    const due = await findDueSends(db, { channels, permitFree: 'all', overdueByMs: 0, limit })
    const heads = due.filter(({ isHead }) => isHead)
    const granted = await grantPermits(db, channelIds, times, heads.filter(isReachable))
    const away = heads.filter((send) => !isReachable(send))
    return granted.map((one) => {
      const isOfChannel = ({ channelId }: DueSend) => channelId === one.channelId
      const unreachable = firstOfEachShard(shards, away.filter(isOfChannel))
      // A breaker closes only by work that it tries. The send that is woken then requests a permit.
      void restoreOnShards(
        shards,
        unreachable.filter(({ requestId }) => hasOpenBreaker(ofSend(shards, requestId))),
      )
      const page = due.filter(isOfChannel)
      const goesOn = page.length === limit && !one.isFull && shardsAway.size < shards.length
      const last = goesOn ? page.at(-1) : undefined
      if (last) searchedUntil.set(one.channelId, last, { noUpdateTTL: true })
      return {
        ...one,
        moreInMs: last ? 0 : one.moreInMs,
        unreachable: unreachable.map(({ requestId }) => requestId),
      }
    })
  }
}

const hasOpenBreaker = ({ redis, throughBreaker }: Shard): boolean =>
  redis.status === 'ready' && throughBreaker.isOpen()

function firstOfEachShard(shards: readonly Shard[], sends: readonly DueSend[]): DueSend[] {
  const first = new Map<Shard, DueSend>()
  for (const send of sends) {
    const shard = ofSend(shards, send.requestId)
    if (!first.has(shard)) first.set(shard, send)
  }
  return [...first.values()]
}
