import { fieldsOf, itemsOf, wordOf } from '../../../core/receipts/receipt-request.ts'
import { type Cost, costOf } from '../../../core/sends/cost.ts'
import type { Condition, CostForm, Location } from '../form/parts.ts'

/** What a place may point into. */
export interface Places {
  fields: unknown
  headers: Readonly<Record<string, string | string[] | undefined>>
  query?: URLSearchParams
}

/** The value at a JSON pointer (RFC 6901); undefined if there is none. */
export function atPointer(value: unknown, pointer: string): unknown {
  if (pointer === '') return value
  return pointer
    .slice(1)
    .split('/')
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'))
    .reduce<unknown>((within, part) => {
      if (Array.isArray(within)) return /^\d{1,6}$/.test(part) ? itemsOf(within)[Number(part)] : undefined
      const fields = fieldsOf(within)
      return Object.hasOwn(fields, part) ? fields[part] : undefined
    }, value)
}

/** A text, a number or a boolean as a text; undefined for any other value and for an empty text. */
const asWord = (value: unknown): string | undefined =>
  typeof value === 'boolean' ? String(value) : wordOf(value) || undefined

function wordAt(location: Location, { fields, headers, query }: Places): string | undefined {
  if (typeof location === 'string') return asWord(atPointer(fields, location))
  if ('query' in location) return query?.get(location.query) || undefined
  return [headers[location.header.toLowerCase()]].flat()[0] || undefined
}

/** The values at the places, in their order, of those that have one. */
export const wordsAt = (locations: readonly Location[] = [], places: Places): string[] =>
  locations.flatMap((location) => wordAt(location, places) ?? [])

export const firstWordAt = (locations: readonly Location[] | undefined, places: Places): string | undefined =>
  wordsAt(locations, places)[0]

/** Where a vendor says what a message costs. */
export interface CostPlaces {
  cost?: CostForm | undefined
  parts?: readonly Location[] | undefined
}

export function costIn({ cost, parts }: CostPlaces, places: Places): Cost | undefined {
  if (!cost && !parts) return undefined
  const { amount, amountOfPart, currency } = cost ?? {}
  return costOf({
    amount: firstWordAt(amount, places),
    amountOfPart: firstWordAt(amountOfPart, places),
    currency: typeof currency === 'string' ? currency : firstWordAt(currency, places),
    parts: firstWordAt(parts, places),
  })
}

/** Whether a condition holds. A place without a value meets none. */
export function holds({ at, in: these, notIn = [] }: Condition, places: Places): boolean {
  const word = firstWordAt(at, places)
  if (word === undefined) return false
  return these ? these.includes(word) : !notIn.includes(word)
}
