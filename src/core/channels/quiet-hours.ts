import { allOf } from '../any-of.ts'
import { type Priority, priorities } from '../sends/priority.ts'

/** The hours in which a channel calls nobody (docs/explanation/delivery.md#quiet-hours). */
export interface QuietHours {
  /** Local times, HH:MM. `until` is the first minute that isn't quiet; it may be on the next day. */
  from: string
  until: string
  /** Whether the local time is that of the contact's phone number, where it has one. */
  byContact: boolean
  /** The IANA name of the zone for all others. */
  zone: string
  /** The priorities that wait. */
  priorities: Priority[]
}

/** What an operator gave of them; the rest stays. */
export type QuietHoursChange = Partial<QuietHours>

const defaults = {
  byContact: true,
  zone: 'UTC',
  priorities: ['normal', 'bulk'],
} satisfies Omit<QuietHours, 'from' | 'until'>

/** The hours after a change; undefined without a time of day, old or new. */
export function changedHours(
  before: QuietHours | null,
  { from = before?.from, until = before?.until, ...others }: QuietHoursChange,
): QuietHours | undefined {
  if (from === undefined || until === undefined) return undefined
  return { ...defaults, ...before, ...others, from, until }
}

const timeOfDay = /^(?:[01]\d|2[0-3]):[0-5]\d$/

/** @returns undefined for anything but two different times, such as 21:00-08:00. */
export function parseHours(text: string): Pick<QuietHours, 'from' | 'until'> | undefined {
  const [from = '', until = '', ...more] = text.split('-').map((time) => time.trim())
  const isValid = timeOfDay.test(from) && timeOfDay.test(until) && from !== until && more.length === 0
  return isValid ? { from, until } : undefined
}

/** @returns undefined for anything but `contact`, a zone's IANA name, or both. */
export function parseQuietZone(text: string): Partial<Pick<QuietHours, 'byContact' | 'zone'>> | undefined {
  const [first = '', second, ...more] = text.split(',').map((part) => part.trim())
  const byContact = first === 'contact'
  const zone = byContact ? second : first
  if (more.length > 0 || (!byContact && second !== undefined)) return undefined
  if (zone === undefined) return { byContact, zone: defaults.zone }
  return isZone(zone) ? { byContact, zone } : undefined
}

/** False for an offset, such as +02:00. */
function isZone(name: string): boolean {
  if (!/^[a-z]/i.test(name)) return false
  try {
    return Boolean(new Intl.DateTimeFormat('en', { timeZone: name }))
  } catch {
    return false
  }
}

/** @returns undefined if one is no priority. */
export function parseQuietPriorities(text: string): Priority[] | undefined {
  const named = text.split(',').map((name) => name.trim())
  const known = priorities.filter((priority) => named.includes(priority))
  return known.length === new Set(named).size ? known : undefined
}

/** For people: 21:00 to 08:00, where the contact is (else Europe/Berlin), for normal and bulk. */
export function quietHoursText({ from, until, byContact, zone, priorities: which }: QuietHours): string {
  const where = byContact ? `where the contact is (else ${zone})` : zone
  return `${from} to ${until}, ${where}, for ${allOf(which)}`
}
