/** As it is written. To drop what stands between the digits of 20 MB takes seconds. */
const maxLength = 256

/** The same as a pattern, for those who check before they send. */
export const phonePattern = String.raw`^[ .()\-]*(?:(?:\+|0[ .()\-]*0)[ .()\-]*)?[1-9](?:[ .()\-]*[0-9]){6,14}[ .()\-]*$`

/**
 * The number as `+digits`, or undefined where it is none. Only the form is checked: which numbers exist is the
 * provider's business, and numbering plans change faster than libraries (docs/reference/api.md#contact).
 */
export function parsePhone(value: string): string | undefined {
  if (value.length > maxLength) return undefined
  const digits = value.replace(/[ .()-]/g, '').replace(/^(\+|00)/, '')
  return /^[1-9][0-9]{6,14}$/.test(digits) ? `+${digits}` : undefined
}
