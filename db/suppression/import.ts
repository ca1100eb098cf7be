import { v7 as uuidv7 } from 'uuid'
import type { CsvEntry } from '../../src/core/suppression/suppression-csv.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { entryKey, folded } from '../delivery/contact-rule.ts'
import { prepared, sqlText } from '../statement.ts'

const importStatement = prepared<{ added: number }>(
  'import_suppressions',
  'Adds a page of imported entries, but those that are there.',
  sqlText`
    -- $1: the account; $2: their ids; $3: the kinds of the contacts; $4: the contacts; $5: the channels; $6: why.
    with
    -- Each contact and channel once, in the first of its spellings.
    given as (
      select distinct on (folded, channel_id) given.*, ${folded('value')} as folded
      from unnest($2::uuid[], $3::text[], $4::text[], $5::uuid[], $6::text[])
        as given (id, type, value, channel_id, reason)
      order by folded, channel_id, id),
    -- But those that are there.
    added as (
      insert into suppressions (id, account_id, contact_type, contact_value, channel_id, cause, reason)
      select given.id, $1, given.type, given.value, given.channel_id, 'manual', given.reason
      from given
      where not exists (
        select from suppressions e
        where e.account_id = $1 and ${entryKey('e')} = given.folded
          and e.channel_id is not distinct from given.channel_id
        offset 0)
      on conflict do nothing
      returning 1)
    select count(*)::int as added from added`,
)

const checkAccountStatement = prepared(
  'check_account',
  'Lets a worker compare all waiting sends of an account with its entries.',
  'insert into suppression_checks (account_id) values ($1)',
)

async function addPage(
  transaction: Transaction,
  accountId: string,
  page: readonly CsvEntry[],
): Promise<number> {
  const [result] = await importStatement(transaction, [
    accountId,
    page.map(() => uuidv7()),
    page.map(({ contact }) => contact.type),
    page.map(({ contact }) => contact.value),
    page.map(({ channelId }) => channelId),
    page.map(({ reason }) => reason),
  ])
  return result?.added ?? 0
}

/** Rolls an import back, with how many entries it would have added. */
class Tried extends Error {
  readonly added: number
  constructor(added: number) {
    super('tried')
    this.added = added
  }
}

/**
 * Adds all entries of the pages in one transaction, or none if reading them fails.
 *
 * @returns how many are new.
 */
export async function importSuppressions(
  db: Database | Transaction,
  accountId: string,
  pages: AsyncIterable<readonly CsvEntry[]>,
): Promise<number> {
  return await inTransaction(db, (transaction) => addPages(transaction, accountId, pages))
}

/** Counts the entries that an import would add: the import itself, rolled back. */
export async function tryImport(
  db: Database,
  accountId: string,
  pages: AsyncIterable<readonly CsvEntry[]>,
): Promise<number> {
  try {
    return await inTransaction(db, async (transaction) => {
      throw new Tried(await addPages(transaction, accountId, pages))
    })
  } catch (error) {
    if (error instanceof Tried) return error.added
    throw error
  }
}

async function addPages(
  transaction: Transaction,
  accountId: string,
  pages: AsyncIterable<readonly CsvEntry[]>,
): Promise<number> {
  let added = 0
  for await (const page of pages) added += await addPage(transaction, accountId, page)
  if (added > 0) await checkAccountStatement(transaction, [accountId])
  return added
}
