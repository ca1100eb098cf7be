export const maxEmailLength = 254
export const maxLocalLength = 64
const local = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*$/
const domain = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** `parseEmail` as a pattern, for clients that check before sending; in addition at most `maxEmailLength` characters. */
export const emailPattern = `^(?=[^@]{1,${maxLocalLength}}@)${local.source.slice(1, -1)}@${domain.source
  .slice(1, -1)
  .replaceAll('a-z', 'A-Za-z')}$`

/**
 * The address with its domain in lower case, or undefined if it is invalid. A practical check, not RFC 5322: no quoted local
 * parts, no comments, no host names without a dot (docs/reference/api.md#contact).
 */
export function parseEmail(value: string): string | undefined {
  if (value.length > maxEmailLength) return undefined
  const at = value.lastIndexOf('@')
  const localPart = value.slice(0, Math.max(at, 0))
  const domainPart = value.slice(at + 1).toLowerCase()
  const good = localPart.length <= maxLocalLength && local.test(localPart) && domain.test(domainPart)
  return good ? `${localPart}@${domainPart}` : undefined
}
