import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { findReceivingChannels, type ReceivingChannel } from '../../../db/receipts.ts'
import type { ProviderRules } from '../../core/provider.ts'
import { providerRules } from '../../core/providers/index.ts'
import type { ReceiptRules } from '../../core/receipt.ts'
import { canBeRecordId } from '../../core/record-id.ts'
import { openConfig } from '../../core/sealed-config.ts'
import { MicroBatch } from '../../platform/micro-batch.ts'
import { credentialsKeys } from '../../platform/settings.ts'
import type { Needs } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { channelNotFound } from '../send/find-own-channel.ts'

/** A change of a channel takes effect after at most this long, and the time of a look-up; the docs promise 3 s. */
const cacheTtlMs = 2000
/** Precision of the TTL: the cache reads the clock once in this time. */
const ttlResolutionMs = 50
const cachedChannels = 10_000
const maxChannelsPerLookup = 200

/** A channel that takes receipts by HTTP, with its secrets. */
export interface OpenChannel extends ReceivingChannel {
  config: unknown
  rules: ReceiptRules
}

type Opening = Needs<never, 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>

/** Opens a channel's config. @returns undefined if its provider sends no receipts. */
export function channelOpener({ settings }: Opening) {
  const keys = credentialsKeys(settings)
  return (channel: ReceivingChannel): OpenChannel | undefined => {
    const { config: schema, receipts: rules }: ProviderRules = providerRules[channel.provider]
    if (!rules) return undefined
    const config = schema.parse(openConfig(channel.sealedConfig, channel.channelId, keys))
    return { ...channel, config, rules }
  }
}

/** Finds the channel in the path. An absent channel and one that takes no receipts get the same answer. */
export function receivingChannelFinder(runtime: Opening & Needs<'db'>) {
  const open = channelOpener(runtime)
  const lookups = new MicroBatch<string, ReceivingChannel | undefined>({
    maxItems: maxChannelsPerLookup,
    mayOverlap: true,
    flush: async (ids) => {
      const found = new Map(
        (await findReceivingChannels(runtime.db, ids)).map((channel) => [channel.channelId, channel]),
      )
      return ids.map((id) => found.get(id))
    },
  })
  const channels = new LRUCache<string, OpenChannel>({
    max: cachedChannels,
    ttl: cacheTtlMs,
    ttlResolution: ttlResolutionMs,
  })
  return async (c: Context<ApiEnv>): Promise<OpenChannel> => {
    const channelId = c.req.param('channelId') ?? ''
    const known = channels.get(channelId)
    if (known) return known
    const found = canBeRecordId(channelId) ? await c.get('deadline').spend(lookups.add(channelId)) : undefined
    const channel = found && open(found)
    if (!channel?.rules.areOn(channel.config)) throw channelNotFound()
    channels.set(channelId, channel)
    return channel
  }
}
