import { type Contact, erasedContactValue } from '../../src/core/contacts/contact.ts'
import { canBeRecordId } from '../../src/core/requests/record-id.ts'
import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'

/** A contact of an account. */
export interface ContactOfAccount {
  accountId: string
  contact: Pick<Contact, 'type' | 'value'>
}

interface ContactRow {
  accountId: string
  type: Contact['type']
  value: string
}

const ofId = (name: string, purpose: string, tables: [table: string, id: string, where?: string][]) =>
  prepared<ContactRow>(
    name,
    purpose,
    tables
      .map(
        ([table, id, where = 'true']) => sqlText`
          select account_id as "accountId", contact_type as type, contact_value as value
          from ${table} where ${id} = $1 and ${where}`,
      )
      .join('\nunion all\n'),
  )

const statements = {
  requestId: ofId('contact_of_send', 'Reads the contact of a send, to whom its page links.', [
    ['sends', 'request_id'],
    ['scheduled_sends', 'request_id'],
  ]),
  conversationId: ofId(
    'contact_of_conversation',
    'Reads the contact of a conversation, to whom a page links.',
    [['conversations', 'id']],
  ),
  suppressionId: ofId('contact_of_suppression', 'Reads the contact of a suppression, to whom a page links.', [
    ['suppressions', 'id', 'erased_at is null'],
  ]),
}

export type ContactOwner = keyof typeof statements
export const contactOwners = Object.keys(statements) as ContactOwner[]

/** The contact of a send, a conversation or a suppression; undefined if there is none, or it was erased. */
export async function contactOf(
  db: Database,
  owner: ContactOwner,
  id: string,
): Promise<ContactOfAccount | undefined> {
  const [row] = canBeRecordId(id) ? await statements[owner](db, [id]) : []
  if (!row || row.value === erasedContactValue) return undefined
  const { accountId, type, value } = row
  return { accountId, contact: { type, value } }
}
