import { z } from 'zod'

const maxDigits = 12
const maxParts = 1000

/** The cost of a message, as far as its provider answered or reported it (docs/reference/timeline.md#cost). */
export const costFields = z.object({
  amount: z.string().nullable().describe('The price of the whole message, as a decimal number.'),
  currency: z.string().nullable().describe('The currency of `amount`, such as `EUR`.'),
  parts: z.int().nullable().describe('How many parts, or segments, the provider bills.'),
})
export type Cost = z.output<typeof costFields>

/** The words of a provider for a cost. */
export interface CostWords {
  /** Of all parts. It may have its currency with it, as in `KES 0.8000`. */
  amount?: unknown
  /** The price of each part, if there is no `amount`. */
  amountOfPart?: unknown
  currency?: unknown
  parts?: unknown
}

/** Reads a cost. An amount counts only with its currency. @returns undefined if there is none. */
export function costOf(words: CostWords): Cost | undefined {
  const parts = partsIn(words.parts)
  const priced = pricedIn(words.amount) ?? ofParts(pricedIn(words.amountOfPart), parts)
  const currency = priced?.currency ?? currencyIn(words.currency)
  const isPriced = priced !== undefined && currency !== undefined
  if (!isPriced && parts === undefined) return undefined
  return {
    amount: isPriced ? priced.amount : null,
    currency: isPriced ? currency : null,
    parts: parts ?? null,
  }
}

interface Priced {
  amount: string
  currency: string | undefined
}

const pricedForm = /^(?:([A-Za-z]{3})\s*)?(\d+(?:\.\d+)?(?:e[+-]?\d{1,2})?)(?:\s*([A-Za-z]{3}))?$/i

/** An amount as text or as a number of JSON, which is exact to 15 digits. */
function pricedIn(given: unknown): Priced | undefined {
  const [, before, number = '', after] = pricedForm.exec(textOf(given)) ?? []
  const amount = plainDecimal(number)
  return amount === undefined ? undefined : { amount, currency: currencyIn(before ?? after) }
}

function ofParts(each: Priced | undefined, parts: number | undefined): Priced | undefined {
  return each && parts !== undefined ? { ...each, amount: times(each.amount, parts) } : undefined
}

const textOf = (given: unknown): string =>
  typeof given === 'string' || typeof given === 'number' ? String(given).trim() : ''

const currencyIn = (given: unknown): string | undefined =>
  /^[A-Za-z]{3}$/.test(textOf(given)) ? textOf(given).toUpperCase() : undefined

function partsIn(given: unknown): number | undefined {
  const parts = /^\d{1,4}$/.test(textOf(given)) ? Number(textOf(given)) : 0
  return parts >= 1 && parts <= maxParts ? parts : undefined
}

/** Without an exponent, as in `5e-7`; undefined if it has too many digits. */
function plainDecimal(number: string): string | undefined {
  const [, whole, fraction = '', exponent = '0'] = /^(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?$/i.exec(number) ?? []
  return whole === undefined ? undefined : decimal(whole + fraction, fraction.length - Number(exponent))
}

/** The decimal of digits, the last `scale` of which are behind the point. */
function decimal(digits: string, scale: number): string | undefined {
  const shifted = scale < 0 ? digits + '0'.repeat(-scale) : digits.padStart(scale + 1, '0')
  const places = Math.max(scale, 0)
  const whole = shifted.slice(0, shifted.length - places).replace(/^0+(?=\d)/, '')
  const fraction = shifted.slice(shifted.length - places)
  if (whole.length > maxDigits || fraction.length > maxDigits) return undefined
  return fraction === '' ? whole : `${whole}.${fraction}`
}

/** By integers: floats would lose a cent in many. */
function times(amount: string, parts: number): string {
  const [whole = '', fraction = ''] = amount.split('.')
  const product = String(BigInt(whole + fraction) * BigInt(parts))
  return decimal(product, fraction.length) ?? amount
}
