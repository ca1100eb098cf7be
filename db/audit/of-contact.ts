import type { Database } from '../connection/client.ts'
import { prepared, sqlText } from '../statement.ts'
import { contactKey } from './contact-key.ts'
import type { RecordedChange } from './list.ts'

const newest = (which: string) => sqlText`
  select a.* from audit a
  where ${which}
  order by a.at desc, a.id desc limit (select $2::int)`

const statement = prepared<RecordedChange>(
  'audit_of_contact',
  'Lists the newest rows about a contact, by the ids of what it has: the audit never has the contact itself.',
  sqlText`
    -- $1: ids, and paths of pages; $2: the limit.
    select distinct found.*
    from unnest($1::text[]) given (id) cross join lateral (
      (${newest('a.target = given.id')})
      union all
      (${newest(`${contactKey('a')} = given.id`)})) found
    order by found.at desc, found.id desc limit $2`,
)

/** Ids of what a contact has in its account. */
export interface IdsOfContact {
  conversationIds: readonly string[]
  requestIds: readonly string[]
  suppressionIds: readonly string[]
}

/** Who saw or changed a contact, the newest first: pages of it and of its sends, its suppressions, and what was done to its sends. */
export async function auditOfContact(
  db: Database,
  { conversationIds, requestIds, suppressionIds }: IdsOfContact,
  limit: number,
): Promise<RecordedChange[]> {
  const pages = requestIds.map((id) => `/support/${id}`)
  return await statement(db, [[...conversationIds, ...requestIds, ...suppressionIds, ...pages], limit])
}
