import type { Installation } from '../../../db/accounts/installation.ts'
import { parseHours, parseQuietZone } from '../../core/channels/quiet-hours.ts'
import { defaultFallbackWithinSeconds } from '../../core/sends/fallback.ts'
import { ceilingList } from '../../core/typed/lists.ts'
import { callRate } from '../../core/typed/numbers.ts'
import type { ChannelChange } from '../channels/channel-fields.ts'
import type { FallbackChange } from '../channels/fallbacks.ts'
import { type ChannelInFile, zoneText } from './document.ts'

export type StoredChannel = Installation['channels'][number]

export const settingNames = [
  'onUncertain',
  'ordering',
  'expireAfter',
  'rate',
  'maxInFlight',
  'ceilings',
  'autoSuppress',
  'countries',
  'quietHours',
  'oneClick',
] as const satisfies (keyof ChannelInFile)[]

/** The settings of a channel as the file has them. */
export type ChannelSettings = Required<Pick<ChannelInFile, (typeof settingNames)[number]>>

export function settingsOf(channel: StoredChannel): ChannelSettings {
  const { rateCalls, rateSeconds, quietHours: quiet } = channel
  return {
    onUncertain: channel.onUncertain,
    ordering: channel.ordering,
    expireAfter: channel.expireAfterSeconds,
    rate: rateCalls === null || rateSeconds === null ? null : `${rateCalls}/${rateSeconds}`,
    maxInFlight: channel.maxInFlight,
    ceilings: channel.ceilings?.toSorted() ?? [],
    autoSuppress: channel.autoSuppress?.toSorted() ?? 'all',
    countries: channel.countries?.toSorted() ?? null,
    quietHours: quiet && {
      hours: `${quiet.from}-${quiet.until}`,
      zone: zoneText(quiet),
      for: quiet.priorities.toSorted(),
    },
    oneClick: channel.oneClick,
  }
}

/** What a command would be asked for. */
export function askedOf(settings: Partial<ChannelSettings>): ChannelChange {
  const { onUncertain, ordering, expireAfter, rate, maxInFlight, autoSuppress, countries, oneClick } =
    settings
  return {
    ...(onUncertain !== undefined && { onUncertain }),
    ...(ordering !== undefined && { ordering }),
    ...(expireAfter !== undefined && { expireAfter: expireAfter ?? 0 }),
    ...(rate !== undefined && { rate: callRate(rate ?? 'none') }),
    ...(maxInFlight !== undefined && { maxInFlight: maxInFlight ?? 0 }),
    ...(settings.ceilings !== undefined && { ceiling: ceilingsAsked(settings.ceilings) }),
    ...(autoSuppress !== undefined && { autoSuppress }),
    ...(countries !== undefined && { countries: countries ?? 'none' }),
    ...(oneClick !== undefined && { oneClick: oneClick ? 'on' : 'off' }),
    ...(settings.quietHours !== undefined && quietAsked(settings.quietHours)),
  }
}

/** As a command is asked for them. */
export const ceilingsAsked = (ceilings: readonly string[]) => ceilingList(ceilings.join(',') || 'none')

function quietAsked(quiet: NonNullable<ChannelSettings['quietHours']> | null): ChannelChange {
  if (quiet === null) return { quietHours: 'none' }
  return {
    quietHours: parseHours(quiet.hours),
    quietZone: parseQuietZone(quiet.zone),
    quietFor: quiet.for,
  }
}

export type Fallback = Exclude<ChannelInFile['fallback'], undefined>

/** @param nameOf of a channel by its id. */
export function fallbackOf(channel: StoredChannel, nameOf: (id: string) => string | undefined): Fallback {
  const name = channel.fallbackChannelId === null ? undefined : nameOf(channel.fallbackChannelId)
  if (name === undefined) return null
  return {
    channel: name,
    on: channel.fallbackOn?.toSorted() ?? 'all',
    within: channel.fallbackWithinSeconds ?? defaultFallbackWithinSeconds,
  }
}

/** @param id of the channel that the fallback names. */
export const fallbackAsked = (
  fallback: NonNullable<Fallback>,
  id: string,
  all: NonNullable<FallbackChange['fallbackOn']>,
): FallbackChange => ({
  fallback: id,
  fallbackOn: fallback.on === 'all' ? all : fallback.on,
  fallbackWithin: fallback.within,
})
