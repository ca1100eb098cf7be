import { sqlText } from '../statement.ts'

/*
 * The channel that has a send `s` is its `channel_id`, by which all statements claim it, order it and limit it. Clients see two
 * channels: that of the request, and the one that has it now, if it fell back.
 */

export const postedChannel = 'coalesce(s.former_channels[1], s.channel_id)'

/** SQL of the channel that has it now; null if it never fell back. */
export const sentThrough = 'case when s.former_channels is not null then s.channel_id end'

/** SQL that is true if a send `s` is, or was, of one of the channels. */
export const isOrWasOf = (channelIds: string) =>
  `(s.channel_id = any(${channelIds}) or s.former_channels && ${channelIds})`

/** SQL of the one of the channels that has or had it; the present one first. */
export const theOneOf = (channelIds: string) => sqlText`
  case when s.channel_id = any(${channelIds}) then s.channel_id
       else (select f from unnest(s.former_channels) f
             where f = any(${channelIds}) limit 1) end`
