import type { ContactType } from '../contacts/contact.ts'

/** A limit of what an account or a channel sends (docs/explanation/delivery.md#ceilings). */
export interface Ceiling {
  amount: number
  unit: (typeof ceilingUnits)[number]
  period: (typeof ceilingPeriods)[number]
}

export const ceilingUnits = ['messages', 'segments'] as const
/** They begin and end by UTC. */
export const ceilingPeriods = ['hour', 'day', 'month'] as const

export const mostCeilings = 4
const mostAmount = 1_000_000_000

/** What a message takes of a ceiling, as `taken` of db/ceilings/ceiling-rule.ts in SQL. */
export function sizeBelow(
  unit: Ceiling['unit'],
  contactType: ContactType,
  segments: number | undefined,
): number {
  if (unit === 'messages') return 1
  return segments ?? (contactType === 'phone' ? 1 : 0)
}

/** The shares in percent at which a ceiling is reported, once a period. */
export const reportedShares = [80, 100] as const

/** For people: `10000 messages/day`, as `parseCeiling` reads it. */
export const ceilingText = ({ amount, unit, period }: Ceiling): string => `${amount} ${unit}/${period}`

/** @returns undefined for anything but an amount, a unit and a period, such as `10000 messages/day`. */
export function parseCeiling(text: string): Ceiling | undefined {
  const [, digits, unitName, periodName] = /^\s*(\d{1,10})\s+(\w+)\s*\/\s*(\w+)\s*$/.exec(text) ?? []
  const amount = Number(digits)
  // One is a message, more are messages.
  const unit = ceilingUnits.find((name) => unitName === name || (amount === 1 && `${unitName}s` === name))
  const period = ceilingPeriods.find((name) => name === periodName)
  return unit && period && amount >= 1 && amount <= mostAmount ? { amount, unit, period } : undefined
}

/** Why the ceilings can't be those of one account or channel. */
export function ceilingsIssue(ceilings: readonly Ceiling[]): string | undefined {
  if (ceilings.length > mostCeilings) return `At most ${mostCeilings} ceilings.`
  const kinds = ceilings.map(({ unit, period }) => `${unit}/${period}`)
  const twice = kinds.find((kind, place) => kinds.indexOf(kind) !== place)
  return twice && `Two ceilings of ${twice}: give one.`
}

/** What a callback reports of a ceiling. */
export interface CeilingReport {
  accountId: string
  /** Null for a ceiling of the account. */
  channelId: string | null
  /** As `ceilingText`. */
  ceiling: string
  /** How much of it was used, in percent: one of `reportedShares`. */
  percent: (typeof reportedShares)[number]
  /** The end of the period, in UTC. */
  until: string
}
