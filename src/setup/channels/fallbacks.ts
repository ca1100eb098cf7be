import type { ChannelFields } from '../../../db/accounts/channels.ts'
import { type ChannelOfChain, templatesOf } from '../../../db/accounts/fallbacks.ts'
import type { Transaction } from '../../../db/connection/client.ts'
import { type FallbackCause, fallbackCauses } from '../../core/sends/fallback.ts'
import { chainIssue } from '../../core/sends/fallback-chain.ts'
import { notCarried } from '../../core/sends/fallback-warnings.ts'
import { createLogger } from '../../platform/log/logger.ts'
import type { Settings } from '../../platform/settings/settings.ts'
import { channelRules } from '../../sends/channel-rules.ts'
import { SetupFault } from '../setup-fault.ts'

/** What is asked for of a channel's fallback; the rest stays. */
export interface FallbackChange {
  /** The id of the channel; `none` takes it off. */
  fallback?: string | undefined
  fallbackOn?: FallbackCause[] | undefined
  /** Seconds. */
  fallbackWithin?: number | undefined
}

export const changesFallback = ({ fallback, fallbackOn, fallbackWithin }: FallbackChange): boolean =>
  fallback !== undefined || fallbackOn !== undefined || fallbackWithin !== undefined

/**
 * The fields of the channel.
 *
 * @param channels all of its account.
 * @throws SetupFault if the channel can't have this fallback.
 */
export function fallbackFields(
  channelId: string,
  { fallback, fallbackOn, fallbackWithin }: FallbackChange,
  channels: readonly ChannelOfChain[],
): Partial<ChannelFields> {
  if (fallback === 'none') return { fallbackChannelId: null, fallbackOn: null, fallbackWithinSeconds: null }
  const present = channels.find((channel) => channel.channelId === channelId)?.fallbackChannelId
  if (fallback === undefined && !present) throw new SetupFault('noFallback', 'This channel has no fallback')
  const issue = fallback === undefined ? undefined : chainIssue(channelId, fallback.toLowerCase(), channels)
  if (issue) throw new SetupFault('fallback', issue)
  return {
    ...(fallback !== undefined && { fallbackChannelId: fallback.toLowerCase() }),
    ...(fallbackOn && { fallbackOn: fallbackOn.length === fallbackCauses.length ? null : fallbackOn }),
    ...(fallbackWithin !== undefined && { fallbackWithinSeconds: fallbackWithin }),
  }
}

export type ConfigKeys = Pick<Settings, 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>

/** Messages that the channel takes and its fallback can't send. */
export async function fallbackWarnings(
  transaction: Transaction,
  keys: ConfigKeys,
  channel: ChannelOfChain,
  channels: readonly ChannelOfChain[],
): Promise<string[]> {
  const target = channels.find(({ channelId }) => channelId === channel.fallbackChannelId)
  if (!target) return []
  const rulesOf = channelRules({ log: createLogger('silent'), settings: keys })
  const templates = await templatesOf(transaction, [channel.channelId, target.channelId])
  const carrier = (one: ChannelOfChain) => ({
    rules: rulesOf(one),
    templates: templates.filter(({ channelId }) => channelId === one.channelId),
  })
  return notCarried(carrier(channel), carrier(target)).map(
    (what) => `The fallback ${target.name} does not take ${what}: such a send ends as without a fallback`,
  )
}
