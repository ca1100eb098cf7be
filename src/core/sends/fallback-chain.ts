import { maxChannelsOfChain } from './fallback.ts'

/** A channel of an account, as far as chains of fallbacks need it. */
export interface ChainedChannel {
  channelId: string
  fallbackChannelId: string | null
}

/** Why a channel can't have this fallback; undefined if it can. @param channels those of its account, without deleted ones. */
export function chainIssue(
  channelId: string,
  fallbackChannelId: string,
  channels: readonly ChainedChannel[],
): string | undefined {
  if (fallbackChannelId === channelId) return 'a channel cannot be its own fallback'
  if (!channels.some((channel) => channel.channelId === fallbackChannelId))
    return `its account has no channel ${fallbackChannelId}`
  const nextOf = new Map(channels.map((channel) => [channel.channelId, channel.fallbackChannelId]))
  nextOf.set(channelId, fallbackChannelId)
  const after = chainFrom(channelId, nextOf)
  if (after === 'circle') return `that would be a circle: ${fallbackChannelId} falls back on this channel`
  const chains = [...nextOf.keys()].map((id) => chainFrom(id, nextOf))
  const isTooLong = chains.some(
    (chain) => chain !== 'circle' && chain.includes(channelId) && chain.length > maxChannelsOfChain,
  )
  return isTooLong ? `at most ${maxChannelsOfChain} channels can follow each other` : undefined
}

/** The channels by which a send of this one may go on, with it, as long as they exist. */
function chainFrom(first: string, nextOf: ReadonlyMap<string, string | null>): readonly string[] | 'circle' {
  const chain: string[] = []
  for (let id: string | null = first; id !== null && nextOf.has(id); id = nextOf.get(id) ?? null) {
    if (chain.includes(id)) return 'circle'
    chain.push(id)
  }
  return chain
}
