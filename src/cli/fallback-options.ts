import { type Command, InvalidArgumentError } from 'commander'
import type { ChannelFields } from '../../db/accounts/channels.ts'
import { type ChannelOfChain, templatesOf } from '../../db/accounts/fallbacks.ts'
import type { Transaction } from '../../db/connection/client.ts'
import { type FallbackCause, fallbackCauses } from '../core/sends/fallback.ts'
import { chainIssue } from '../core/sends/fallback-chain.ts'
import { notCarried } from '../core/sends/fallback-warnings.ts'
import { createLogger } from '../platform/log/logger.ts'
import { channelRules } from '../sends/channel-rules.ts'
import { type CliContext, CliError } from './answer.ts'
import { wholeNumber } from './arguments.ts'

export interface FallbackOptions {
  /** `none` takes it off. */
  fallback?: string
  fallbackOn?: FallbackCause[]
  /** Seconds. */
  fallbackWithin?: number
}

export function addFallbackOptions(command: Command): Command {
  return command
    .option(
      '--fallback <channel>',
      'the id of the channel by which sends go on that this one could not deliver; "none": no channel',
    )
    .option(
      '--fallback-on <causes>',
      `go on by it after these: ${fallbackCauses.join(',')}; default: all`,
      causes,
    )
    .option(
      '--fallback-within <seconds>',
      'go on by it no later than this after the accept; default: 3600',
      wholeNumber,
    )
}

function causes(text: string): FallbackCause[] {
  const named = [...new Set(text.split(',').map((name) => name.trim()))]
  if (named.every((name): name is FallbackCause => fallbackCauses.some((known) => known === name)))
    return named
  throw new InvalidArgumentError(`Use one or more of ${fallbackCauses.join(',')}.`)
}

/** Their form in the audit. */
export const fallbackDetails = ({ fallback, fallbackOn, fallbackWithin }: FallbackOptions) => ({
  ...(fallback !== undefined && { fallback }),
  ...(fallbackOn !== undefined && { fallbackOn }),
  ...(fallbackWithin !== undefined && { fallbackWithin }),
})

export const hasFallbackOptions = ({ fallback, fallbackOn, fallbackWithin }: FallbackOptions): boolean =>
  fallback !== undefined || fallbackOn !== undefined || fallbackWithin !== undefined

/**
 * The fields of the options, for the channel.
 *
 * @param channels all of its account.
 * @throws CliError if the channel can't have this fallback.
 */
export function fallbackFields(
  channelId: string,
  { fallback, fallbackOn, fallbackWithin }: FallbackOptions,
  channels: readonly ChannelOfChain[],
): Partial<ChannelFields> {
  if (fallback === 'none') {
    if (fallbackOn || fallbackWithin)
      throw new CliError('usage', 'With --fallback none, leave out --fallback-on and --fallback-within')
    return { fallbackChannelId: null, fallbackOn: null, fallbackWithinSeconds: null }
  }
  const present = channels.find((channel) => channel.channelId === channelId)?.fallbackChannelId
  if (fallback === undefined && !present)
    throw new CliError('usage', 'This channel has no fallback: name one with --fallback CHANNEL')
  const issue = fallback === undefined ? undefined : chainIssue(channelId, fallback.toLowerCase(), channels)
  if (issue) throw new CliError('usage', `Fix --fallback: ${issue}; see: outbound channel list --account ID`)
  return {
    ...(fallback !== undefined && { fallbackChannelId: fallback.toLowerCase() }),
    ...(fallbackOn && { fallbackOn: fallbackOn.length === fallbackCauses.length ? null : fallbackOn }),
    ...(fallbackWithin !== undefined && { fallbackWithinSeconds: fallbackWithin }),
  }
}

/** Messages that the channel takes and its fallback can't send. */
export async function fallbackWarnings(
  transaction: Transaction,
  { setting }: Pick<CliContext, 'setting'>,
  channel: ChannelOfChain,
  channels: readonly ChannelOfChain[],
): Promise<string[]> {
  const target = channels.find(({ channelId }) => channelId === channel.fallbackChannelId)
  if (!target) return []
  const rulesOf = channelRules({
    log: createLogger('silent'),
    settings: {
      CREDENTIALS_KEY: setting('CREDENTIALS_KEY'),
      CREDENTIALS_KEY_PREVIOUS: setting('CREDENTIALS_KEY_PREVIOUS'),
    },
  })
  const templates = await templatesOf(transaction, [channel.channelId, target.channelId])
  const carrier = (one: ChannelOfChain) => ({
    rules: rulesOf(one),
    templates: templates.filter(({ channelId }) => channelId === one.channelId),
  })
  return notCarried(carrier(channel), carrier(target)).map(
    (what) => `The fallback ${target.name} does not take ${what}: such a send ends as without a fallback`,
  )
}
