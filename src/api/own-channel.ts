import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { type Channel, findOwnChannel } from '../../db/channels.ts'
import { canBeRecordId } from '../core/record-id.ts'
import type { Runtime } from '../platform/runtime.ts'
import type { ApiEnv } from './context.ts'
import { ApiError } from './errors.ts'

/** Longest time after which a change of a channel is felt. Absent channels aren't cached: a new one works at once. */
const cacheTtlMs = 2000
const cachedChannels = 10_000

export const channelNotFound = () => new ApiError(404, 'Channel not found')

/** Finds the caller's channel; one that doesn't exist and one of another account answer with the same bytes. */
export function channelLookup({ db }: Runtime) {
  const channels = new LRUCache<string, Channel>({
    max: cachedChannels,
    ttl: cacheTtlMs,
    // One that makes room for others while it is looked up has its answer all the same.
    ignoreFetchAbort: true,
    fetchMethod: (key) => {
      const [channelId = '', accountId = ''] = key.split(' ')
      return findOwnChannel(db, channelId, accountId)
    },
  })
  return async (c: Context<ApiEnv>, channelId = ''): Promise<Channel> => {
    const { caller, budget } = c.var
    const channel = canBeRecordId(channelId)
      ? await budget.spend(channels.fetch(`${channelId} ${caller.accountId}`))
      : undefined
    if (!channel) throw channelNotFound()
    return channel
  }
}
