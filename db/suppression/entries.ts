import { MAX, NIL, v7 as uuidv7 } from 'uuid'
import type { ContactType } from '../../src/core/contacts/contact.ts'
import type { StoredSuppression as Suppression } from '../../src/core/suppression/suppression-view.ts'
import { entryKeys, erasedValue } from '../claim-rule.ts'
import type { Database, Transaction } from '../connection/client.ts'
import { entryKey, folded } from '../delivery/contact-rule.ts'
import { type Page, type PageAsked, pageOf } from '../page.ts'
import { prepared, sqlText } from '../statement.ts'

export type { StoredSuppression as Suppression } from '../../src/core/suppression/suppression-view.ts'

/** A contact of an account, on one of its channels or on all of them. */
export interface SuppressedContact {
  accountId: string
  contact: { type: ContactType; value: string }
  /** Null for all channels. */
  channelId: string | null
}

/** SQL of the columns of an entry `e`. */
export const suppressionColumns = sqlText`
  e.id as "suppressionId", e.contact_type as "contactType",
  case when e.erased_at is null then e.contact_value end as "contactValue",
  e.channel_id as "channelId", e.cause, e.reason, e.request_id as "requestId", e.created_at as "createdAt"`

/** SQL that is true for an entry `e` of the contact $2 of the account $1; $3 is the key of hashes. */
const isOfContact = sqlText`
  e.account_id = $1::uuid
  and ${entryKey('e')} = any(
    ${entryKeys('$3::bytea', '$1::uuid', '$2::text')})`

const isOfContactAndChannel = sqlText`
  ${isOfContact}
  and e.channel_id is not distinct from $4::uuid`

/** SQL that is true for two entries of one contact and channel. */
const areOfSame = (one: string, other: string) => sqlText`
  ${one}.account_id = ${other}.account_id
  and ${entryKey(one)}
    = ${entryKey(other)}
  and ${one}.channel_id is not distinct from ${other}.channel_id`

/** SQL that is true for an entry without capitals: of a contact and a channel there is one at most. */
const isPlain = (entry: string) => `${entry}.contact_value = ${entryKey(entry)}`

/**
 * SQL that is true for an entry `e` that is shown: the one without capitals, or else the first. A contact and a channel may have
 * others, in other spellings, which the previous release added. That one compares contacts as they are written, so that each has to stay
 * for it. Only entries with capitals are looked up.
 */
export const isShown = sqlText`
  (${isPlain('e')}
  or not exists (
    select from suppressions other
    where ${areOfSame('other', 'e')}
      and (other.id < e.id
        or ${isPlain('other')})))`

/** The order in which the entry that is shown is the first. */
const shownFirst = sqlText`
  ${isPlain('e')} desc, e.id`

/** A worker fails the contact's waiting sends (db/suppression/checks.ts). */
const addStatement = prepared<Suppression>(
  'add_suppression',
  "Adds an entry to an account's list of contacts that get nothing, unless it is there.",
  sqlText`
    -- $1: the account; $2: the contact; $3: the key of hashes; $4: the channel; $5: the id of a new entry; $6: the kind
    -- of the contact; $7: why.
    with
    -- The existing entry.
    same as (
      select e.* from suppressions e
      where ${isOfContactAndChannel}
      order by ${shownFirst}
      limit 1),
    -- The new one.
    added as (
      insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, reason)
      select $5::uuid, $1::uuid, $6::text, $2::text, $4::uuid, 'manual', $7::text
      where not exists (select from same)
      on conflict do nothing
      returning *),
    -- Its contact's waiting sends are to be failed.
    checked as (
      insert into suppression_checks (account_id, contact_value)
      select account_id, contact_value from added)
    select ${suppressionColumns}
    from (select * from same union all select * from added) e`,
)

/** @returns the entry, which may be an earlier one of the same contact and channel; and whether it is new. */
export async function addSuppression(
  db: Database | Transaction,
  { accountId, contact, channelId }: SuppressedContact,
  reason: string | null,
  suppressionKey: Buffer,
): Promise<{ entry: Suppression; isNew: boolean }> {
  for (;;) {
    const id = uuidv7()
    const values = [accountId, contact.value, suppressionKey, channelId, id, contact.type, reason]
    const [entry] = await addStatement(db, values)
    // Another statement has added it at this moment.
    if (entry) return { entry, isNew: entry.suppressionId === id }
  }
}

const removeStatement = prepared<Suppression>(
  'remove_suppression',
  'Removes an entry by its id, and those of its contact in other spellings.',
  sqlText`
    -- $1: the account, or none; $2: the entry.
    with
    -- The entry.
    asked as (
      select * from suppressions
      where id = $2 and account_id = coalesce($1, account_id)),
    -- Entries in other spellings, too.
    removed as (
      delete from suppressions e using asked
      where ${areOfSame('e', 'asked')}
      returning e.*)
    select ${suppressionColumns}
    from removed e
    where e.id = $2`,
)

/** @param accountId undefined for any account. @returns undefined if it has no such entry. */
export async function removeSuppression(
  db: Database | Transaction,
  accountId: string | undefined,
  suppressionId: string,
): Promise<Suppression | undefined> {
  return (await removeStatement(db, [accountId, suppressionId]))[0]
}

const removeContactStatement = prepared<Suppression>(
  'remove_suppressed_contact',
  'Removes the entry of a contact and a channel.',
  sqlText`
    -- $1: the account; $2: the contact; $3: the key of hashes; $4: the channel.
    with removed as (
      delete from suppressions e where ${isOfContactAndChannel}
      returning *)
    select ${suppressionColumns}
    from removed e
    order by ${shownFirst}
    limit 1`,
)

/** @returns undefined if there is no entry of this contact and channel. */
export async function removeSuppressedContact(
  db: Database | Transaction,
  { accountId, contact, channelId }: SuppressedContact,
  suppressionKey: Buffer,
): Promise<Suppression | undefined> {
  return (await removeContactStatement(db, [accountId, contact.value, suppressionKey, channelId]))[0]
}

const listStatement = prepared<Suppression>(
  'list_suppressions',
  "Lists an account's entries page by page, oldest first.",
  sqlText`
    -- $1: the account; $2: after this entry; $3: how many.
    select ${suppressionColumns}
    from suppressions e
    -- By the index of accounts: in that of ids, a plan may read the entries of others.
    where (e.account_id, e.id) > ($1, $2) and (e.account_id, e.id) <= ($1, '${MAX}')
      and ${isShown}
    order by e.account_id, e.id limit $3`,
)

/** A page of an account's entries, oldest first. @param after the last entry of the page before. */
export function listSuppressions(
  db: Database,
  accountId: string,
  { after = NIL, limit }: { after?: string | undefined; limit: number },
): Promise<Suppression[]> {
  return listStatement(db, [accountId, after, limit])
}

const exportedAtOnce = 5000

/** All entries of an account, page by page, oldest first. */
export async function* allSuppressions(db: Database, accountId: string): AsyncGenerator<Suppression[]> {
  for (let after: string | undefined; ; ) {
    const page = await listSuppressions(db, accountId, { after, limit: exportedAtOnce })
    if (page.length === 0) return
    yield page
    after = page.at(-1)?.suppressionId
  }
}

const ofContactStatement = prepared<Suppression>(
  'suppressions_of_contact',
  'Lists the entries of one contact.',
  sqlText`
    -- $1: the account; $2: the contact; $3: the key of hashes.
    select ${suppressionColumns}
    from suppressions e
    where ${isOfContact}
      and ${isShown}
    order by e.id`,
)

/** The entries of a contact, oldest first: at most one for each channel, and one for all. */
export function suppressionsOfContact(
  db: Database,
  { accountId, contact }: Pick<SuppressedContact, 'accountId' | 'contact'>,
  suppressionKey: Buffer,
): Promise<Suppression[]> {
  return ofContactStatement(db, [accountId, contact.value, suppressionKey])
}

/** A page of a list of entries, as the API has it: by the id alone, which is made at the time of the entry. */
export async function pageOfSuppressions(
  db: Database,
  accountId: string,
  { contact, ...page }: PageAsked & { contact?: SuppressedContact['contact'] | undefined },
  suppressionKey: Buffer,
): Promise<Page<Suppression>> {
  const after = page.after?.key
  const entries = contact
    ? (await suppressionsOfContact(db, { accountId, contact }, suppressionKey)).filter(
        ({ suppressionId }) => after === undefined || suppressionId > after,
      )
    : await listSuppressions(db, accountId, { after, limit: page.limit + 1 })
  const rows = entries.map((entry) => ({ ...entry, place: { micros: '0', key: entry.suppressionId } }))
  return pageOf(rows, page.limit)
}

const eraseStatement = prepared<{ id: string }>(
  'erase_suppressions',
  'Replaces an erased contact in its entries by keyed hashes.',
  sqlText`
    -- $1: the account; $2: the contact; $3: the key of hashes.
    with
    -- Its entries, with what replaces it: of the spelling, for the previous release, and of all spellings.
    theirs as materialized (
      select e.id, e.channel_id,
             ${erasedValue('$3::bytea', '$1::uuid', 'e.contact_value')} as value,
             ${erasedValue('$3::bytea', '$1::uuid', folded('$2::text'))} as key
      from suppressions e
      where e.account_id = $1::uuid and e.erased_at is null
        and ${entryKey('e')} = ${folded('$2::text')}),
    -- Entries of one that was erased before, and added again since.
    repeated as materialized (
      select theirs.*, before.id as before_id
      from theirs join suppressions before
        on before.account_id = $1 and before.contact_value = theirs.value
           and before.channel_id is not distinct from theirs.channel_id),
    -- The former ones stay in their place.
    removed as (
      delete from suppressions where id in (select id from repeated)),
    -- The former ones hold for all spellings from now on.
    completed as (
      update suppressions e set contact_key = nullif(repeated.key, repeated.value)
      from repeated where e.id = repeated.before_id),
    -- Its waiting sends are found by their account from now on.
    checks as (
      update suppression_checks set contact_value = null
      where account_id = $1
        and ${folded('contact_value')} = ${folded('$2::text')})
    update suppressions e
    set contact_value = theirs.value, contact_key = nullif(theirs.key, theirs.value),
        erased_at = clock_timestamp(), reason = null
    from theirs
    where e.id = theirs.id and e.id not in (select id from repeated)
    returning e.id`,
)

/** Erases a contact from its entries. They stay in force: a send to it is recognised by its hash. */
export async function eraseSuppressions(
  db: Database,
  { accountId, contact }: Pick<SuppressedContact, 'accountId' | 'contact'>,
  suppressionKey: Buffer,
): Promise<number> {
  return (await eraseStatement(db, [accountId, contact.value, suppressionKey])).length
}
