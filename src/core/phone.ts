/** Length of the text as written. Removing the separators from 20 MB would take seconds. */
export const maxPhoneLength = 256

/** `parsePhone` as a pattern, for clients that check before sending. */
export const phonePattern = String.raw`^[ .()\-]*(?:(?:\+|0[ .()\-]*0)[ .()\-]*)?[1-9](?:[ .()\-]*[0-9]){6,14}[ .()\-]*$`

/**
 * The number as `+digits`, or undefined if it is invalid. Only the form is checked: the provider knows which numbers exist, and
 * numbering plans change faster than libraries (docs/reference/api.md#contact).
 */
export function parsePhone(value: string): string | undefined {
  if (value.length > maxPhoneLength) return undefined
  const digits = value.replace(/[ .()-]/g, '').replace(/^(\+|00)/, '')
  return /^[1-9][0-9]{6,14}$/.test(digits) ? `+${digits}` : undefined
}
