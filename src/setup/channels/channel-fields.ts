import type { ChannelFields } from '../../../db/accounts/channels.ts'
import type { Ceiling } from '../../core/accounts/ceiling.ts'
import { changedHours, type QuietHours } from '../../core/channels/quiet-hours.ts'
import { oneClickHeaders } from '../../core/messages/unsubscribe.ts'
import type { Ordering } from '../../core/sends/lane.ts'
import type { OnUncertain } from '../../core/sends/outcome.ts'
import type { Priority } from '../../core/sends/priority.ts'
import type { AutoCause } from '../../core/suppression/suppression.ts'
import type { Rate } from '../../core/typed/numbers.ts'
import { providerOf } from '../../providers/known.ts'
import { SetupFault } from '../setup-fault.ts'

/** What is asked for of a channel, beside its config and its fallback. What is left out stays. */
export interface ChannelChange {
  name?: string | undefined
  onUncertain?: OnUncertain | undefined
  ordering?: Ordering | undefined
  /** Seconds; 0 means none. */
  expireAfter?: number | undefined
  /** 0 calls means none. */
  rate?: Rate | undefined
  /** 0 means none. */
  maxInFlight?: number | undefined
  autoSuppress?: AutoCause[] | 'all' | undefined
  oneClick?: 'on' | 'off' | undefined
  countries?: string[] | 'none' | undefined
  quietHours?: Pick<QuietHours, 'from' | 'until'> | 'none' | undefined
  quietZone?: Partial<Pick<QuietHours, 'byContact' | 'zone'>> | undefined
  quietFor?: Priority[] | undefined
  /** Replaces all that it has. */
  ceiling?: Ceiling[] | 'none' | undefined
}

/**
 * The fields of the channel.
 *
 * @param before the channel's quiet hours, of which some may stay.
 * @throws SetupFault if there are no quiet hours to change.
 */
export function fieldsOf(change: ChannelChange, before: QuietHours | null = null): Partial<ChannelFields> {
  const { name, onUncertain, ordering, expireAfter, rate, maxInFlight } = change
  const { autoSuppress, countries, oneClick } = change
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
    ...quietFields(change, before),
  }
}

function quietFields(
  { quietHours: hours, quietZone: zone, quietFor: priorities }: ChannelChange,
  before: QuietHours | null,
): Pick<ChannelFields, 'quietHours'> {
  if (hours === undefined && zone === undefined && priorities === undefined) return {}
  if (hours === 'none') return { quietHours: null }
  const changed = changedHours(before, { ...hours, ...zone, ...(priorities && { priorities }) })
  if (changed) return { quietHours: changed }
  throw new SetupFault('quietHours', 'The channel has no quiet hours')
}

/** @throws SetupFault if the provider can't give a mail the headers of an address that unsubscribes with one click. */
export function checkOneClick({ oneClick }: Pick<ChannelChange, 'oneClick'>, provider: string): void {
  if (oneClick !== 'on') return
  const { contactTypes, mail } = providerOf(provider)
  if (!mail || !contactTypes.includes('email'))
    throw new SetupFault('oneClick', `${provider} sends no mail; use it with a channel that does`)
  const issue = mail.issueOf?.({ headers: oneClickHeaders('https://example.com') })
  if (issue) throw new SetupFault('oneClick', `${provider} can't send its headers: ${issue}`)
}
