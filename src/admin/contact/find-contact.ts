import { withIdOrName } from '../../../db/accounts/names.ts'
import type { IdsOfContact } from '../../../db/audit/of-contact.ts'
import type { Database } from '../../../db/connection/client.ts'
import { type ContactOfAccount, contactOf, contactOwners } from '../../../db/look-up/contact-of.ts'
import type { SeenIds } from '../../core/accounts/audit.ts'
import { anyContact } from '../../core/contacts/contact.ts'
import { isStorable } from '../../core/requests/characters.ts'
import { contactInQuery } from '../../core/requests/decoded-plus.ts'
import { PageError } from '../errors.tsx'

/** How a page or a form names a contact: by an id, since addresses are recorded; or by itself, where it has none yet. */
export type ContactRef = Record<string, string>

export interface FoundContact extends ContactOfAccount {
  ref: ContactRef
}

/** @throws PageError if the fields name no contact. @returns undefined if they are empty. */
export async function findContact(
  db: Database,
  fields: Record<string, unknown>,
): Promise<FoundContact | undefined> {
  const textIn = (name: string) => (typeof fields[name] === 'string' ? fields[name].trim() : '')
  for (const owner of contactOwners) {
    const id = textIn(owner)
    if (id === '') continue
    const found = await contactOf(db, owner, id)
    if (found) return { ...found, ref: { [owner]: id } }
    throw new PageError(404, `There is no such ${owner}, or its contact was erased.`)
  }
  const [account, text] = [textIn('accountId'), textIn('contact')]
  if (account === '' && text === '') return undefined
  const contact = contactInQuery(text)
  if (!contact) throw new PageError(400, `Contact: enter ${anyContact}.`)
  const [found, another] = isStorable(account) ? await withIdOrName(db, 'account', account) : []
  if (!found) throw new PageError(404, 'Account: no account has this id or name.')
  if (another) throw new PageError(400, 'Account: several accounts have this name. Enter the id of one.')
  return { accountId: found.id, contact, ref: { accountId: found.id, contact: contact.value } }
}

/** The page of the contact, if an id names it. */
export const contactLink = (ref: ContactRef, path = '/contact'): string =>
  `${path}?${new URLSearchParams(ref)}`

/** By what the audit names a contact: the newest conversation, which lasts longest; and a send or a suppression, unless an id named it. */
export function seenIds(
  ref: ContactRef,
  { conversationIds, requestIds, suppressionIds }: IdsOfContact,
): SeenIds {
  const [conversationId, [requestId], [suppressionId]] = [conversationIds.at(-1), requestIds, suppressionIds]
  const other = requestId !== undefined ? { requestId } : suppressionId !== undefined ? { suppressionId } : {}
  return { ...(isOpaque(ref) ? ref : other), ...(conversationId !== undefined && { conversationId }) }
}

export const isOpaque = (ref: ContactRef): boolean => !('contact' in ref)
