import { sqlText } from '../statement.ts'
import { folded, hasCapitals } from './contact-rule.ts'

/**
 * SQL of the open conversations of a contact. There is a second one only if the previous release opened it, in another spelling: this
 * one opens conversations with folded values only, so that the unique index holds for all spellings.
 *
 * @param of SQL of the account, the kind of the contact, and its folded value.
 */
export const openConversations = ({
  account,
  type,
  value,
}: Record<'account' | 'type' | 'value', string>) => sqlText`
  select c.id from conversations c
  where c.account_id = ${account} and c.contact_type = ${type}
    and c.contact_value = ${value} and c.closed_at is null
  union all
  select c.id from conversations c
  where ${type} = 'email' and c.account_id = ${account} and c.contact_type = ${type}
    and ${folded('c.contact_value')} = ${value}
    and ${hasCapitals('c.contact_value')}
    and c.closed_at is null`
