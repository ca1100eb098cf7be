import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { findReceivingChannels, type ReceivingChannel } from '../../../db/receipts/receipts.ts'
import { openConfig } from '../../core/channels/sealed-config.ts'
import type { ReceiptRules } from '../../core/receipts/receipt.ts'
import { canHaveBeenMade } from '../../core/requests/record-id.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import { credentialsKeys } from '../../platform/settings/settings.ts'
import { findProvider } from '../../providers/known.ts'
import type { Needs } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { cacheTtlMs } from '../keys/cache-ttl.ts'
import { channelNotFound } from '../send/find-own-channel.ts'

/** Precision of the TTL: the cache reads the clock once in this time. */
const ttlResolutionMs = 50
const cachedChannels = 10_000
const maxChannelsPerLookup = 200

/** A channel that takes receipts by HTTP, with its secrets. */
export interface OpenChannel extends ReceivingChannel {
  config: unknown
  rules: ReceiptRules
}

type Opening = Needs<'db', 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>

/** Looks a channel up, and opens its config. @returns undefined if there is none, or its provider sends no receipts. */
export type ChannelOpener = (channelId: string) => Promise<OpenChannel | undefined>

/** Opens channels by their ids, and remembers them for a moment. */
export function createOpenChannel({ db, settings }: Opening): ChannelOpener {
  const keys = credentialsKeys(settings)
  const open = (channel: ReceivingChannel): OpenChannel | undefined => {
    const { config: schema, receipts: rules } = findProvider(channel.provider) ?? {}
    if (!schema || !rules) return undefined
    const config = schema.parse(openConfig(channel.sealedConfig, channel.channelId, keys))
    return { ...channel, config, rules }
  }
  const lookups = new MicroBatch<string, ReceivingChannel | undefined>({
    maxItems: maxChannelsPerLookup,
    mayOverlap: true,
    flush: async (ids) => {
      const found = new Map(
        (await findReceivingChannels(db, ids)).map((channel) => [channel.channelId, channel]),
      )
      return ids.map((id) => found.get(id))
    },
  })
  const channels = new LRUCache<string, OpenChannel>({
    max: cachedChannels,
    ttl: cacheTtlMs,
    ttlResolution: ttlResolutionMs,
  })
  return async (channelId) => {
    const known = channels.get(channelId)
    if (known) return known
    const found = await lookups.add(channelId)
    const channel = found && open(found)
    if (channel) channels.set(channelId, channel)
    return channel
  }
}

/** Finds the channel in the path. An absent channel and one that takes no receipts get the same answer. */
export function createFindReceivingChannel(openChannel: ChannelOpener) {
  return async (c: Context<ApiEnv>): Promise<OpenChannel> => {
    const channelId = c.req.param('channelId') ?? ''
    const channel = canHaveBeenMade(channelId)
      ? await c.get('deadline').spend(openChannel(channelId))
      : undefined
    if (!channel?.rules.areOn(channel.config)) throw channelNotFound()
    return channel
  }
}
