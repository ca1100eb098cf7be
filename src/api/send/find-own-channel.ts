import { LRUCache } from 'lru-cache'
import { type Channel, type ChannelOwner, findOwnChannels } from '../../../db/accounts/channels.ts'
import { canBeRecordId } from '../../core/requests/record-id.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Needs } from '../../runtime.ts'
import type { RequestState } from '../context.ts'
import { ApiError } from '../errors.ts'
import { cacheTtlMs } from '../keys/cache-ttl.ts'

/** Precision of the TTL: the cache reads the clock once in this time. */
const ttlResolutionMs = 50
const cachedChannels = 10_000
const maxChannelsPerLookup = 200

export const channelNotFound = () => new ApiError('channel_not_found', 'Channel not found')

/**
 * Finds the caller's channel. An absent channel and one of another account get the same answer. A deleted channel is found,
 * because a repeat of an earlier request still has to be answered.
 */
export function createFindOwnChannel({ db }: Needs<'db'>) {
  const lookups = new MicroBatch<ChannelOwner, Channel | undefined>({
    maxItems: maxChannelsPerLookup,
    mayOverlap: true,
    flush: async (owners) => {
      const found = await findOwnChannels(db, owners)
      const byKey = new Map(found.map((channel) => [keyOf(channel), channel]))
      return owners.map((owner) => byKey.get(keyOf(owner)))
    },
  })
  /** Without absent ones, so that a new channel works at once. */
  const channels = new LRUCache<string, Channel>({
    max: cachedChannels,
    ttl: cacheTtlMs,
    ttlResolution: ttlResolutionMs,
  })
  return async (
    { caller, deadline }: Pick<RequestState, 'caller' | 'deadline'>,
    channelId = '',
  ): Promise<Channel> => {
    const owner = { channelId, accountId: caller.accountId }
    const key = keyOf(owner)
    const known = channels.get(key)
    if (known) return known
    const channel = canBeRecordId(channelId) && (await deadline.spend(lookups.add(owner)))
    if (!channel) throw channelNotFound()
    channels.set(key, channel)
    return channel
  }
}

const keyOf = ({ channelId, accountId }: ChannelOwner) => `${channelId} ${accountId}`
