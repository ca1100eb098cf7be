import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { type Channel, type ChannelOwner, findOwnChannels } from '../../../db/accounts/channels.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import type { Runtime } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { ApiError } from '../errors.ts'

/** Longest time after which a change of a channel is felt. Absent channels aren't cached: a new one works at once. */
const cacheTtlMs = 2000
/** How exactly that is kept: the clock is read once in so long. */
const ttlResolutionMs = 50
const cachedChannels = 10_000
const maxChannelsPerLookup = 200

export const channelNotFound = () => new ApiError(404, 'Channel not found')

/**
 * Finds the caller's channel; one that doesn't exist and one of another account answer with the same bytes. A deleted one is
 * found: the pipeline answers for it once it knows that the request is no repeat.
 */
export function channelLookup({ db }: Runtime) {
  const lookups = new MicroBatch<ChannelOwner, Channel | undefined>({
    maxItems: maxChannelsPerLookup,
    isItemsFault: () => false,
    mayOverlap: true,
    flush: async (asked) => {
      const found = await findOwnChannels(db, asked)
      const byKey = new Map(found.map((channel) => [keyOf(channel), channel]))
      return asked.map((one) => byKey.get(keyOf(one)))
    },
  })
  const channels = new LRUCache<string, Channel>({
    max: cachedChannels,
    ttl: cacheTtlMs,
    ttlResolution: ttlResolutionMs,
  })
  return async (c: Context<ApiEnv>, channelId = ''): Promise<Channel> => {
    const owner = { channelId, accountId: c.get('caller').accountId }
    const key = keyOf(owner)
    const known = channels.get(key)
    if (known) return known
    const channel = canBeRecordId(channelId) && (await c.get('deadline').spend(lookups.add(owner)))
    if (!channel) throw channelNotFound()
    channels.set(key, channel)
    return channel
  }
}

const keyOf = ({ channelId, accountId }: ChannelOwner) => `${channelId} ${accountId}`
