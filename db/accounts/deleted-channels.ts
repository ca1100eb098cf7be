import { and, count, eq, isNull, sql } from 'drizzle-orm'
import { ownReasons } from '../../src/core/sends/own-reasons.ts'
import { moveSendsOfDeleted } from '../admission/scheduled-sends.ts'
import type { RecordIn } from '../audit/record.ts'
import { type Database, inTransaction, type Transaction } from '../connection/client.ts'
import { failQueued } from '../delivery/fail-queued.ts'
import { channels, permits, sends, templates } from '../schema.ts'
import { sqlText } from '../statement.ts'

/** The result of a deletion: how many waiting sends failed, or how many sends in flight prevent it. */
export type Deletion = { failed: number } | { sending: number }

const pageSize = 1000

const failWaitingStatement = failQueued(
  'fail_waiting_of_deleted',
  'Fails the waiting sends of deleted channels.',
  {
    failure: `'${ownReasons.channelDeleted}'`,
    which: sqlText`
      s.channel_id = any(array(
        select id from channels where deleted_at is not null and ($2::uuid is null or id = $2)))`,
  },
)

/**
 * Fails waiting sends of deleted channels: sends that were accepted while their channel was being deleted, and sends that went
 * back to the queue since.
 */
export const failSendsOfDeletedChannels = (db: Database, limit: number) =>
  failWaitingStatement(db, [limit, null])

/**
 * Deletes a channel, unless one of its sends is being sent. Its waiting sends fail, and its templates and credentials are
 * removed. Its row stays for the timelines of its sends.
 *
 * @param record called in the transaction that deletes it.
 * @returns undefined if there is no such channel, or it was deleted before.
 */
export async function deleteChannel(
  db: Database | Transaction,
  id: string,
  record?: RecordIn,
): Promise<Deletion | undefined> {
  const sending = await inTransaction(db, async (transaction) => {
    const sending = await markDeleted(transaction, id)
    if (sending === 0) await record?.(transaction)
    return sending
  })
  if (sending === undefined) return undefined
  if (sending > 0) return { sending }
  await moveSendsOfDeleted(db, id, pageSize)
  let failed = 0
  for (;;) {
    const { length } = await failWaitingStatement(db, [pageSize, id])
    failed += length
    if (length < pageSize) return { failed }
  }
}

/** @returns how many of its sends are being sent. If there are any, the channel stays unchanged. */
async function markDeleted(transaction: Transaction, id: string): Promise<number | undefined> {
  const isPresent = and(eq(channels.id, id), isNull(channels.deletedAt))
  const [channel] = await transaction
    .select({ id: channels.id })
    .from(channels)
    .where(isPresent)
    .for('no key update')
  if (!channel) return undefined
  const isSending = and(eq(sends.channelId, id), isNull(sends.finishedAt), eq(sends.status, 'sending'))
  const [found] = await transaction.select({ sending: count() }).from(sends).where(isSending)
  if (found && found.sending > 0) return found.sending
  await transaction
    .update(channels)
    .set({
      deletedAt: sql`clock_timestamp()`,
      // Held too, so that no worker claims its sends, not even one of the previous release.
      heldAt: sql`coalesce(${channels.heldAt}, clock_timestamp())`,
      heldReason: ownReasons.channelDeleted,
      sealedConfig: '',
      shownConfig: null,
      breakerOpenUntil: null,
      breakerOpenedAt: null,
      breakerOpenings: 0,
    })
    .where(eq(channels.id, id))
  await transaction.delete(permits).where(eq(permits.channelId, id))
  await transaction.delete(templates).where(eq(templates.channelId, id))
  return 0
}
