import type { ReceiptRequest } from './receipt.ts'

/** The value of a header; empty if it is missing. */
export function headerOf({ headers }: Pick<ReceiptRequest, 'headers'>, name: string): string {
  return String(headers[name] ?? '')
}

/** The type of the body, in lower case, without parameters. */
export function contentTypeOf(request: ReceiptRequest): string {
  const [type = ''] = headerOf(request, 'content-type').split(';')
  return type.trim().toLowerCase()
}

/** The body as JSON; undefined if it is none. Invalid UTF-8 is none either. */
export function jsonOf({ body }: ReceiptRequest): unknown {
  try {
    return parseJson(new TextDecoder('utf-8', { fatal: true }).decode(body))
  } catch {
    return undefined
  }
}

/** Undefined if the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The fields of an object; none for any other value. */
export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

/** The items of a list; none for any other value. */
export const itemsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])

/** A text that isn't empty; null for any other value. */
export const textOf = (value: unknown): string | null =>
  typeof value === 'string' && value !== '' ? value : null

/** A text or a number, as a text; empty for any other value, of which `String` may throw. */
export const wordOf = (value: unknown): string =>
  typeof value === 'number' || typeof value === 'string' ? String(value) : ''

/** A moment given as a text, such as `2026-11-23T14:00:00.123Z`; null for any other value. */
export function momentOf(value: unknown): string | null {
  const ms = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(ms) ? null : new Date(ms).toISOString()
}
