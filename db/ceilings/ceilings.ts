import { and, eq, notInArray, type SQLWrapper, sql } from 'drizzle-orm'
import type { Ceiling } from '../../src/core/accounts/ceiling.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { isOfAnyPriority } from '../delivery/priority-rule.ts'
import { quietUntil } from '../reasons-to-wait.ts'
import { ceilings } from '../schema.ts'
import { prepared, sqlText } from '../statement.ts'
import { presentPeriod } from './ceiling-rule.ts'

/** SQL that reads the ceilings `own` as texts such as `10000 messages/day`, without a condition on their owner. */
export const textsOf = sqlText`
  select array_agg(concat(own.amount, ' ', own.unit, '/', own.period)
                   order by array_position(array['hour', 'day', 'month'], own.period), own.unit)
  from ceilings own`

/** Reads those of an account or a channel in a query; null without one. */
export const ceilingsOf = (ownerId: SQLWrapper) =>
  sql<string[] | null>`(${sql.raw(textsOf)} where own.owner_id = ${ownerId})`

/** Whose ceilings: an account's, or a channel's. */
export interface CeilingOwner {
  ownerId: string
  accountId: string
}

/** Replaces the ceilings of an account or a channel. The use of one that stays is kept. */
export async function setCeilings(
  db: Database | Transaction,
  { ownerId, accountId }: CeilingOwner,
  wanted: readonly Ceiling[],
): Promise<void> {
  await inTransaction(db, async (transaction) => {
    await recallStatement(transaction, [ownerId])
    const kept = wanted.map(({ unit, period }) => `${unit}/${period}`)
    const isOther = notInArray(sql`${ceilings.unit} || '/' || ${ceilings.period}`, kept)
    await transaction
      .delete(ceilings)
      .where(and(eq(ceilings.ownerId, ownerId), kept.length > 0 ? isOther : undefined))
    if (wanted.length === 0) return
    await transaction
      .insert(ceilings)
      .values(wanted.map((ceiling) => ({ ownerId, accountId, ...ceiling })))
      .onConflictDoUpdate({
        target: [ceilings.ownerId, ceilings.unit, ceilings.period],
        set: {
          amount: sql`excluded.amount`,
          // One that stays as it is was reported.
          reported: sql`case when ${ceilings.amount} = excluded.amount then ${ceilings.reported} else 0 end`,
        },
      })
  })
}

const recallStatement = prepared(
  'recall_from_ceilings',
  'Makes the sends due that wait for the next period of a ceiling of an account or a channel, which is about to change.',
  sqlText`
    -- $1: the account or the channel.
    update sends s set next_attempt_at = clock_timestamp()
    from channels
    where $1 in (channels.id, channels.account_id) and s.channel_id = channels.id
      and ${isOfAnyPriority('s')}
      and s.finished_at is null and s.status = 'queued'
      and s.next_attempt_at = any(array(
        select now.ends from ceilings c cross join lateral ${presentPeriod}
        where c.owner_id = $1))
      and s.next_attempt_at is distinct from ${quietUntil}`,
)
