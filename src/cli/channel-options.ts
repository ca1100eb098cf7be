import { type Command, Option } from 'commander'
import type { ChannelFields } from '../../db/accounts/channels.ts'
import { changedHours, type QuietHours } from '../core/channels/quiet-hours.ts'
import { oneClickHeaders } from '../core/messages/unsubscribe.ts'
import { type Ordering, orderings } from '../core/sends/lane.ts'
import { type OnUncertain, onUncertainWords } from '../core/sends/outcome.ts'
import type { Priority } from '../core/sends/priority.ts'
import { type AutoCause, autoCauses } from '../core/suppression/suppression.ts'
import { providerOf } from '../providers/known.ts'
import { CliError } from './answer.ts'
import {
  callRate,
  causeList,
  countryList,
  limit,
  quietFor,
  quietHours,
  quietZone,
  type Rate,
} from './arguments.ts'

/** The options of `channel create` and `channel update`. */
export interface ChannelOptions {
  name: string
  config: unknown
  onUncertain?: OnUncertain
  ordering?: Ordering
  /** Seconds; 0 means none. */
  expireAfter?: number
  /** 0 calls means none. */
  rate?: Rate
  /** 0 means none. */
  maxInFlight?: number
  autoSuppress?: AutoCause[] | 'all'
  oneClick?: 'on' | 'off'
  countries?: string[] | 'none'
  quietHours?: Pick<QuietHours, 'from' | 'until'> | 'none'
  quietZone?: Partial<Pick<QuietHours, 'byContact' | 'zone'>>
  quietFor?: Priority[]
}

/**
 * Options that weren't given are left out, so that their fields stay unchanged.
 *
 * @param before the channel's quiet hours, of which some may stay.
 */
export function fieldsOf(
  options: Partial<ChannelOptions>,
  before: QuietHours | null = null,
): Partial<ChannelFields> {
  const { name, onUncertain, ordering, expireAfter, rate, maxInFlight } = options
  const { autoSuppress, countries, oneClick } = options
  return {
    ...(name !== undefined && { name }),
    ...(onUncertain !== undefined && { onUncertain }),
    ...(ordering !== undefined && { ordering }),
    ...(expireAfter !== undefined && { expireAfterSeconds: expireAfter || null }),
    ...(rate !== undefined && { rateCalls: rate.calls || null, rateSeconds: rate.seconds || null }),
    ...(maxInFlight !== undefined && { maxInFlight: maxInFlight || null }),
    ...(countries !== undefined && { countries: countries === 'none' ? null : countries }),
    ...(autoSuppress !== undefined && { autoSuppress: autoSuppress === 'all' ? null : autoSuppress }),
    ...(oneClick !== undefined && { oneClick: oneClick === 'on' }),
    ...quietFields(options, before),
  }
}

function quietFields(
  { quietHours: hours, quietZone: zone, quietFor: priorities }: Partial<ChannelOptions>,
  before: QuietHours | null,
): Pick<ChannelFields, 'quietHours'> {
  if (hours === undefined && zone === undefined && priorities === undefined) return {}
  if (hours === 'none') {
    if (zone || priorities)
      throw new CliError('usage', '--quiet-hours none takes no --quiet-zone and no --quiet-for')
    return { quietHours: null }
  }
  const changed = changedHours(before, { ...hours, ...zone, ...(priorities && { priorities }) })
  if (changed) return { quietHours: changed }
  throw new CliError('usage', 'The channel has no quiet hours: give --quiet-hours, such as 21:00-08:00')
}

/** The options of quiet hours. */
export function addQuietOptions(command: Command): Command {
  return command
    .option(
      '--quiet-hours <from-until>',
      'sends due between these local times wait, e.g. 21:00-08:00; "none": at no time',
      quietHours,
    )
    .option(
      '--quiet-zone <zone>',
      "whose local time that is: contact, for that of the phone number; a zone's IANA name; or both, such as contact,Europe/Berlin, for contacts without one; default: contact,UTC",
      quietZone,
    )
    .option('--quiet-for <priorities>', 'the priorities that wait; default: normal,bulk', quietFor)
}

export const rateOption = [
  '--rate <n/seconds>',
  'at most N calls in SECONDS, e.g. 80/1; further sends wait; "none": no limit',
  callRate,
] as const

export const maxInFlightOption = [
  '--max-in-flight <n>',
  'at most N calls at the same time, over all workers; "none": no limit',
  limit,
] as const

export const autoSuppressOption = [
  '--auto-suppress <causes>',
  `suppress contacts after these: ${autoCauses.join(',')}; "none": after nothing; default: all`,
  causeList,
] as const

export const countriesOption = [
  '--countries <codes>',
  'send to phone numbers of these countries only, by their codes of two letters, e.g. DE,AT,CH; "none": of all',
  countryList,
] as const

export const expireAfterOption = [
  '--expire-after <seconds>',
  'fail sends that wait longer than this since their accept or replay; "none": they never expire',
  limit,
] as const

export function orderingOption(): Option {
  return new Option(
    '--ordering <what>',
    "contact: a contact's sends go in the order of their accept; none: each goes as soon as possible; for new sends only",
  ).choices(orderings)
}

export function onUncertainOption(): Option {
  return new Option(
    '--on-uncertain <what>',
    'after a call with unknown outcome: resend calls again, hold leaves the send uncertain',
  ).choices(onUncertainWords)
}

export function oneClickOption(): Option {
  return new Option(
    '--one-click <what>',
    'on: its mails have an address by which their contact unsubscribes with one click; off: they have none; default: off',
  ).choices(['on', 'off'])
}

/** @throws CliError if the provider can't give a mail the headers of such an address. */
export function checkOneClick({ oneClick }: Pick<ChannelOptions, 'oneClick'>, provider: string): void {
  if (oneClick !== 'on') return
  const { contactTypes, mail } = providerOf(provider)
  if (!mail || !contactTypes.includes('email'))
    throw new CliError('usage', `--one-click: ${provider} sends no mail; use it with a channel that does`)
  const issue = mail.issueOf?.({ headers: oneClickHeaders('https://example.com') })
  if (issue) throw new CliError('usage', `--one-click: ${provider} can't send its headers: ${issue}`)
}
