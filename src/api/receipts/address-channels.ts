import type { Context } from 'hono'
import { LRUCache } from 'lru-cache'
import { findSiblings } from '../../../db/receipts.ts'
import type { Receipt } from '../../core/receipt.ts'
import type { Needs } from '../../runtime.ts'
import type { ApiEnv } from '../context.ts'
import { channelOpener, type OpenChannel } from './find-channel.ts'

const cacheTtlMs = 2000
const cachedChannels = 1000

export interface AddressedReceipt {
  receipt: Receipt
  /** The channels whose send it may be about: the one in the path, and those that share its address. */
  channelIds: readonly string[]
}

/** Finds the channels that receipts may be about: the account's others too, where the provider sends all to one address. */
export function channelsAddresser(runtime: Needs<'db', 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>) {
  const open = channelOpener(runtime)
  const siblings = new LRUCache<string, OpenChannel[]>({ max: cachedChannels, ttl: cacheTtlMs })
  const siblingsOf = async (c: Context<ApiEnv>, channel: OpenChannel): Promise<OpenChannel[]> => {
    const known = siblings.get(channel.channelId)
    if (known) return known
    const found = await c.get('deadline').spend(findSiblings(runtime.db, channel))
    const opened = found.flatMap((sibling) => open(sibling) ?? [])
    siblings.set(channel.channelId, opened)
    return opened
  }

  return async (
    c: Context<ApiEnv>,
    channel: OpenChannel,
    receipts: readonly Receipt[],
  ): Promise<AddressedReceipt[]> => {
    const { channelId, rules, config } = channel
    const isOther = (sender: string) => rules.areShared?.(sender, config, config) === false
    const others = new Map<string, string[]>()
    for (const { sender } of receipts) {
      if (sender === undefined || others.has(sender) || !isOther(sender)) continue
      const sharing = (await siblingsOf(c, channel)).filter((other) =>
        rules.areShared?.(sender, config, other.config),
      )
      others.set(
        sender,
        sharing.map((other) => other.channelId),
      )
    }
    return receipts.map((receipt) => ({
      receipt,
      channelIds: [channelId, ...(others.get(receipt.sender ?? '') ?? [])],
    }))
  }
}
