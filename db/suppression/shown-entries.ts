import { MAX, NIL } from 'uuid'
import type { SuppressionCause } from '../../src/core/suppression/suppression.ts'
import type { Database } from '../connection/client.ts'
import { type Count, mostCounted } from '../sends/list-count.ts'
import { prepared, sqlText } from '../statement.ts'
import { isShown, type Suppression, suppressionColumns } from './entries.ts'

/** Limit of the entries looked at for a page, for filters without an index. */
const maxLookedAt = 30_000

/** The filters of a page of an account's entries. Absent ones match all. */
export interface EntriesAsked {
  cause?: SuppressionCause | undefined
  channelId?: string | undefined
  /** Only entries before this one. */
  before?: string | undefined
  limit: number
}

/**
 * SQL of the entries of the account $1 before the entry $2. Account and id are compared together, as the index of accounts has them.
 * Otherwise a plan may read the index of ids, with the entries of other accounts.
 */
const isBefore = `(account_id, id) < ($1, $2) and (account_id, id) > ($1, '${NIL}')`

const matches = (cause: string, channel: string) => sqlText`
  (${cause}::text is null or e.cause = ${cause})
    and (${channel}::uuid is null or e.channel_id = ${channel})`

/** `isShown` is no condition: PostgreSQL would take it for one that most rows fail, and read all of them. */
const pageStatement = prepared<Suppression & { isShown: boolean }>(
  'page_of_suppressions',
  "Lists an account's entries page by page, newest first, for the console.",
  sqlText`
    -- $1: the account; $2: before this entry; $3: how many are looked at; $4: the cause; $5: the channel; $6: how many.
    select ${suppressionColumns},
      ${isShown} as "isShown"
    from (
      select * from suppressions
      where ${isBefore}
      order by account_id desc, id desc limit (select $3::int)) e
    where
      ${matches('$4', '$5')}
    order by e.account_id desc, e.id desc limit $6`,
)

const endStatement = prepared<{ suppressionId: string }>(
  'end_of_suppressions',
  'Finds the last entry that page_of_suppressions looks at.',
  sqlText`
    -- $1: the account; $2: before this entry; $3: how many are looked at.
    select id as "suppressionId" from suppressions
    where ${isBefore}
    order by account_id desc, id desc offset (select $3::int - 1) limit 1`,
)

/** @returns the entries, newest first, and before which one the next page begins: undefined if this is the last one. */
export async function shownSuppressions(
  db: Database,
  accountId: string,
  { cause, channelId, before = MAX, limit }: EntriesAsked,
  mostLookedAt = maxLookedAt,
): Promise<{ entries: Suppression[]; next: string | undefined }> {
  const found = await pageStatement(db, [accountId, before, mostLookedAt, cause, channelId, limit + 1])
  const entries = found.slice(0, limit)
  if (found.length > limit) return { entries: shownOf(entries), next: entries.at(-1)?.suppressionId }
  const [end] = await endStatement(db, [accountId, before, mostLookedAt])
  return { entries: shownOf(entries), next: end?.suppressionId }
}

const shownOf = (entries: readonly (Suppression & { isShown: boolean })[]): Suppression[] =>
  entries.filter((entry) => entry.isShown)

const countStatement = prepared<Count>(
  'count_suppressions',
  "Counts an account's entries, for the console.",
  sqlText`
    -- $1: the account; $2: before this entry; $3: the cause; $4: the channel.
    select count(*) filter (where
             ${matches('$3', '$4')}
             and ${isShown})::int as count,
           count(*) > ${mostCounted} as "isMore"
    from (
      select * from suppressions
      where ${isBefore}
      order by account_id desc, id desc limit ${mostCounted + 1}) e`,
)

/** How many entries match. Only the newest ones are looked at. */
export async function countSuppressions(
  db: Database,
  accountId: string,
  { cause, channelId }: Pick<EntriesAsked, 'cause' | 'channelId'>,
): Promise<Count> {
  return (await countStatement(db, [accountId, MAX, cause, channelId]))[0] ?? { count: 0, isMore: false }
}
