import { type Contact, erasedContactValue, maskContact } from '../contacts/contact.ts'
import type { SuppressionCause } from './suppression.ts'

/** An entry as it is stored. */
export interface StoredSuppression {
  suppressionId: string
  contactType: Contact['type']
  /** Null once the contact was erased. */
  contactValue: string | null
  channelId: string | null
  cause: SuppressionCause
  reason: string | null
  requestId: string | null
  createdAt: Date
}

/** An entry as it is returned: the contact whole to its owner, masked to all others, and `erased` to both once it is. */
export function shownSuppression(
  { contactType: type, contactValue, createdAt, ...entry }: StoredSuppression,
  contact: 'whole' | 'masked',
) {
  const value = contactValue ?? erasedContactValue
  const { suppressionId, ...rest } = entry
  return {
    suppressionId,
    contact: { type, value: contact === 'whole' ? value : maskContact({ type, value }) },
    ...rest,
    createdAt: createdAt.toISOString(),
  }
}
