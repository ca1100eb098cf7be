import type { Context } from 'hono'
import type { SeenIds } from '../../core/accounts/audit.ts'
import { builtIn, mayAs, type Person } from '../../core/accounts/person.ts'
import { type ContactType, maskContact } from '../../core/contacts/contact.ts'
import type { AdminEnv } from '../context.ts'

export type Contacts = 'masked' | 'whole'

/**
 * How a person sees contacts, in exports too: operators see them whole. SUPPORT_SHOW_CONTENT shows them to support, too. The built-in
 * operator may be several people who share ADMIN_PASSWORD, so contacts are masked for it as they are for support. Readers see none.
 */
export function contactsFor(person: Person, settings: { SUPPORT_SHOW_CONTENT: boolean }): Contacts {
  if (settings.SUPPORT_SHOW_CONTENT && mayAs(person.role, 'support')) return 'whole'
  return person.role === 'operator' && person !== builtIn ? 'whole' : 'masked'
}

/** Whether a person sees the content of messages. */
export const seesContent = (person: Person, settings: { SUPPORT_SHOW_CONTENT: boolean }): boolean =>
  settings.SUPPORT_SHOW_CONTENT && mayAs(person.role, 'support')

/**
 * How the person who asks for a page or a download sees contacts. That they see them whole gets into the audit (audit/seen.ts).
 *
 * @param ids of the contact, where the page is of one and its address doesn't name it.
 */
export function contactsSeen(
  c: Context<AdminEnv>,
  settings: { SUPPORT_SHOW_CONTENT: boolean },
  ids: SeenIds = {},
): Contacts {
  const contacts = contactsFor(c.get('person'), settings)
  if (contacts === 'whole') c.set('seen', ids)
  return contacts
}

/** The contact of a row. */
export function showContact(
  row: { contactType: ContactType; contactValue: string },
  contacts: Contacts,
): string {
  const { contactType: type, contactValue: value } = row
  return contacts === 'whole' ? value : maskContact({ type, value })
}
