/**
 * The number as `+digits`, or undefined where it is none. Only the form is checked: which numbers exist is the
 * provider's business, and numbering plans change faster than libraries (docs/api.md#contact).
 */
export function parsePhone(value: string): string | undefined {
  const digits = value.replace(/[ .()-]/g, '').replace(/^(\+|00)/, '')
  return /^[1-9][0-9]{6,14}$/.test(digits) ? `+${digits}` : undefined
}
