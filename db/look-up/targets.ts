import { foldContactValue } from '../../src/core/contacts/contact.ts'
import type { Database } from '../connection/client.ts'
import { entryKey, isContact } from '../delivery/contact-rule.ts'
import { isGiven, prepared, sqlText } from '../statement.ts'

/** The things that a pasted text may lead to. The contact is that of a send or of an entry, so that nothing personal names it. */
export type TargetKind =
  | 'send'
  | 'channel'
  | 'endpoint'
  | 'flow'
  | 'conversation'
  | 'suppression'
  | 'account'
  | 'contactOfSend'
  | 'contactOfSuppression'

export interface Target {
  kind: TargetKind
  id: string
  /** A send's state, the name or the host of another. */
  name: string | null
  accountId: string
  accountName: string
}

const tables: [kind: TargetKind, table: string, id: string, name: string, account: string][] = [
  ['send', 'sends', 'request_id', 'status', 'account_id'],
  ['send', 'scheduled_sends', 'request_id', `'scheduled'`, 'account_id'],
  ['channel', 'channels', 'id', 'name', 'account_id'],
  // Path and query may hold secrets.
  ['endpoint', 'endpoints', 'id', `split_part(url, '/', 3)`, 'account_id'],
  ['flow', 'flows', 'id', 'name', 'account_id'],
  ['conversation', 'conversations', 'id', 'null', 'account_id'],
  ['suppression', 'suppressions', 'id', 'cause', 'account_id'],
  ['account', 'accounts', 'id', 'name', 'id'],
]

/** SQL of targets, from a relation with kind, id, name and account_id. */
const targetsOf = (relation: string) => sqlText`
  select t.kind, t.id, t.name, t.account_id as "accountId", a.name as "accountName"
  from (
    ${relation}) t
    join accounts a on a.id = t.account_id
  order by t.kind, t.id desc`

const byIdStatement = prepared<Target>(
  'look_up_ids',
  'Finds what has one of these ids, for the box of the support page.',
  targetsOf(
    tables
      .map(
        ([kind, table, id, name, account]) =>
          sqlText`
            select '${kind}' as kind, ${id} as id, ${name} as name, ${account} as account_id
            from ${table} where ${isGiven(id)}`,
      )
      .join('\nunion all\n'),
  ),
)

/** The things that have one of the ids, whatever they are. */
export function targetsWithIds(db: Database, ids: readonly string[]): Promise<Target[]> {
  return byIdStatement(db, [ids])
}

/** So many sends of one contact are looked at. */
const maxSends = 2000

/** The newest send of each contact in each account, or else its entry there. */
const ofContactsStatement = prepared<Target & { isNewest: boolean }>(
  'look_up_contacts',
  'Finds the accounts that know a contact, by its sends and suppressions, for the box of the support page.',
  targetsOf(sqlText`
    select distinct on (known.value, known.account_id) known.kind, known.id, null as name, known.account_id
    from unnest($1::text[]) as given (value) cross join lateral (
      (select 'contactOfSend' as kind, 1 as rank, s.request_id as id, s.account_id, given.value
       from sends s where ${isContact('s.contact_value', 'given.value')} limit ${maxSends})
      union all
      (select 'contactOfSend', 1, s.request_id, s.account_id, given.value
       from scheduled_sends s where ${isContact('s.contact_value', 'given.value')} limit ${maxSends})
      union all
      select 'contactOfSuppression', 2, e.id, e.account_id, given.value
      from accounts a cross join lateral (
        select * from suppressions e where e.account_id = a.id and ${entryKey('e')} = given.value
        order by e.id desc limit 1) e) known
    order by known.value, known.account_id, known.rank, known.id desc`),
)

/** @param values normalised. */
export function targetsOfContacts(db: Database, values: readonly string[]): Promise<Target[]> {
  return ofContactsStatement(db, [[...new Set(values.map(foldContactValue))]])
}

/** More are a list's. */
const maxOfReference = 20

const ofReferencesStatement = prepared<{ requestId: string }>(
  'look_up_references',
  'Finds sends by their references, for the box of the support page.',
  sqlText`
    (select request_id as "requestId" from sends
     where reference = any((select $1::text[])::text[]) limit ${maxOfReference + 1})
    union all
    (select request_id from scheduled_sends
     where reference = any((select $1::text[])::text[]) limit ${maxOfReference + 1})`,
)

export async function targetsWithReferences(db: Database, references: readonly string[]): Promise<Target[]> {
  const found = await ofReferencesStatement(db, [references])
  return found.length === 0
    ? []
    : await targetsWithIds(
        db,
        found.map(({ requestId }) => requestId),
      )
}

const leastName = 3
const maxNamed = 100

const namedLike = (kind: TargetKind, table: string, account: string) => sqlText`
  (select '${kind}' as kind, id, name, ${account} as account_id
   from ${table}
   where length(name) >= ${leastName} and position(lower(name) in lower($1)) > 0
      or length($1) >= ${leastName} and position(lower($1) in lower(name)) > 0
      or name = $1
   order by lower(name) = lower($1) desc, id desc limit ${maxNamed})`

const namedStatement = prepared<Target>(
  'look_up_names',
  'Finds channels and accounts whose name is in a text, or which have the text in their name, for the box of the support page.',
  targetsOf(sqlText`
    ${namedLike('channel', 'channels', 'account_id')}
    union all
    ${namedLike('account', 'accounts', 'id')}`),
)

/** Channels and accounts with this name; else those whose name is in the text, as whole words, or has the text in it. */
export async function targetsNamedIn(db: Database, text: string): Promise<Target[]> {
  const asked = text.toLowerCase()
  const found = await namedStatement(db, [text])
  const exactly = found.filter(({ name }) => name?.toLowerCase() === asked)
  if (exactly.length > 0) return exactly
  const isPart = ({ name }: Target) =>
    name !== null && (name.toLowerCase().includes(asked) || hasWords(asked, name.toLowerCase()))
  return found.filter(isPart)
}

const isOfWord = /[\p{L}\p{N}]/u

/** Whether the words are in the text, without a letter or a digit right before or after them. */
function hasWords(text: string, words: string): boolean {
  for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
    const [before, after] = [text.slice(0, at), text.slice(at + words.length)]
    if (
      !isOfWord.test(Array.from(before.slice(-2)).at(-1) ?? '') &&
      !isOfWord.test(Array.from(after.slice(0, 2))[0] ?? '')
    )
      return true
  }
  return false
}
