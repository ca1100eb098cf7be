/** Fewer digits may be of a date or an order. */
const digitsOfNumber = 7

/**
 * The refusal of a person's reason for a change because it names the contact; undefined if it doesn't. The reason goes to the audit and
 * the log, which never have a contact.
 *
 * @param contactValue null if it was erased.
 */
export function contactInReason(reason: string, contactValue: string | null): string | undefined {
  const digits = contactValue?.startsWith('+') ? contactValue.slice(-digitsOfNumber) : undefined
  const isNamed =
    digits !== undefined
      ? reason.replaceAll(/[^\d]/g, '').includes(digits)
      : contactValue !== null && reason.toLowerCase().includes(contactValue.toLowerCase())
  return isNamed
    ? 'The reason names the contact, which the audit would keep when it is erased: leave it out'
    : undefined
}
