import type { readChannelFields } from '../../../../db/accounts/channels.ts'
import { type ConfigField, typedConfigValue } from '../../../core/channels/config-fields.ts'
import type { ShownConfig } from '../../../core/channels/shown-config.ts'
import { fallbackCauses } from '../../../core/sends/fallback.ts'
import { orderings } from '../../../core/sends/lane.ts'
import { onUncertainWords } from '../../../core/sends/outcome.ts'
import { autoCauses } from '../../../core/suppression/suppression.ts'
import { displayName } from '../../../core/typed/display-name.ts'
import {
  causeList,
  ceilingList,
  countryList,
  fallbackCauseList,
  quietFor,
  quietHours,
  quietZone,
} from '../../../core/typed/lists.ts'
import { callRate, limit, wholeNumber } from '../../../core/typed/numbers.ts'
import { TypedFault } from '../../../core/typed/typed-fault.ts'
import type { ChannelChange } from '../../../setup/channels/channel-fields.ts'
import type { FallbackChange } from '../../../setup/channels/fallbacks.ts'
import { type FieldIssues, orEmpty, parseTyped, type Typed } from '../../page/typed-form.ts'
import { inForm, isKept, removeName } from './config-section.tsx'

export type PresentChannel = NonNullable<Awaited<ReturnType<typeof readChannelFields>>>

/** What the fields of the form say of a channel as it is. */
export function typedOf(channel: PresentChannel): Typed {
  const { rateCalls, rateSeconds, quietHours: quiet } = channel
  const text = (value: unknown) => (value === null ? '' : String(value))
  return {
    name: channel.name,
    onUncertain: channel.onUncertain,
    ordering: channel.ordering,
    expireAfter: text(channel.expireAfterSeconds),
    rate: rateCalls === null ? '' : `${rateCalls}/${rateSeconds}`,
    maxInFlight: text(channel.maxInFlight),
    autoSuppress: (channel.autoSuppress ?? autoCauses).join(','),
    oneClick: channel.oneClick ? 'on' : 'off',
    countries: (channel.countries ?? []).join(','),
    ceiling: (channel.ceilings ?? []).join(', '),
    quietHours: quiet ? `${quiet.from}-${quiet.until}` : '',
    quietZone: quiet ? zoneText(quiet) : '',
    quietFor: (quiet?.priorities ?? []).join(','),
    fallback: channel.fallbackChannelId ?? '',
    fallbackOn: channel.fallbackChannelId ? (channel.fallbackOn ?? fallbackCauses).join(',') : '',
    fallbackWithin: text(channel.fallbackWithinSeconds),
  }
}

const zoneText = ({ byContact, zone }: { byContact: boolean; zone: string }) =>
  byContact ? (zone === 'UTC' ? 'contact' : `contact,${zone}`) : zone

/** An empty field takes off what it sets. */
const orNone =
  <Value>(parse: (text: string) => Value) =>
  (text: string): Value =>
    parse(text === '' ? 'none' : text)

const oneOf =
  <Word extends string>(words: readonly Word[]) =>
  (text: string): Word => {
    const found = words.find((word) => word === text)
    if (found) return found
    throw new TypedFault(`Choose one of ${words.join(', ')}.`)
  }

const parsers = {
  name: displayName,
  onUncertain: oneOf(onUncertainWords),
  ordering: oneOf(orderings),
  expireAfter: orNone(limit),
  rate: orNone(callRate),
  maxInFlight: orNone(limit),
  autoSuppress: orNone((text) => (text === autoCauses.join(',') ? 'all' : causeList(text))),
  oneClick: oneOf(['on', 'off'] as const),
  countries: orNone(countryList),
  ceiling: orNone(ceilingList),
  quietHours: orNone(quietHours),
  quietZone: orEmpty(quietZone),
  quietFor: orEmpty(quietFor),
  fallback: (text: string) => text || 'none',
  fallbackOn: orEmpty(fallbackCauseList),
  fallbackWithin: orEmpty(wholeNumber),
}

/**
 * Reads what was asked for. What was left as it is, is left out: a new rate, for example, takes effect at once, even if it is the
 * former one.
 *
 * @param before what the fields said.
 */
export function askedIn(
  typed: Typed,
  before: Typed,
): { asked: ChannelChange & FallbackChange & { name: string } } | { issues: FieldIssues } {
  const read = parseTyped(typed, parsers)
  if ('issues' in read) return read
  const { name, ...values } = read.values
  const asked = Object.fromEntries(
    Object.entries(values).filter(([field]) => (typed[field] ?? '') !== (before[field] ?? '')),
  ) as ChannelChange & FallbackChange
  if (values.quietHours === 'none')
    for (const field of ['quietZone', 'quietFor'] as const) delete asked[field]
  if (values.fallback === 'none')
    for (const field of ['fallbackOn', 'fallbackWithin'] as const) delete asked[field]
  return { asked: { ...asked, name } }
}

/**
 * The whole config after what was typed: an empty field of something that isn't shown keeps it.
 *
 * @param opened the present config; empty for a new channel.
 */
export function configIn(
  typed: Typed,
  fields: readonly ConfigField[],
  { opened, present }: { opened: object; present: ShownConfig | undefined },
): { config: object } | { issues: FieldIssues } {
  const removed = (typed[removeName] ?? '').split(',')
  const issues: Record<string, string> = {}
  const config: Record<string, unknown> = { ...opened }
  for (const field of fields) {
    const { name } = field
    const text = typed[inForm(name)] ?? ''
    try {
      if (text !== '') config[name] = typedConfigValue(field, text)
      else if (removed.includes(name) || !isKept(present, name)) delete config[name]
    } catch {
      issues[inForm(name)] = 'has to be JSON'
    }
  }
  return Object.keys(issues).length > 0 ? { issues } : { config }
}
