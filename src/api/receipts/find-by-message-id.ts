import { findByMessageIds, keepEarlyReceipts } from '../../../db/receipts/message-ids.ts'
import { type Receipt, tidyReceipt } from '../../core/receipts/receipt.ts'
import type { Needs } from '../../runtime.ts'
import type { OpenChannel } from './find-channel.ts'

/**
 * Finds the sends of receipts that have only the provider's id of the message. One whose send isn't known may have come before the outcome
 * of its call was recorded: it is kept, and recorded by a worker (workers/upkeep/record-early-receipts.ts).
 *
 * @returns the receipts of known sends, and those that have no id at all.
 */
export async function findByMessageId(
  { db, metrics }: Needs<'db' | 'metrics'>,
  { channelId, provider }: OpenChannel,
  given: readonly Receipt[],
): Promise<Receipt[]> {
  const receipts = given.map(tidyReceipt)
  const ids = receipts.flatMap(({ providerMessageId }) => providerMessageId ?? [])
  const requestIds = ids.length === 0 ? new Map() : await findByMessageIds(db, channelId, ids)
  const isEarly = ({ providerMessageId: id }: Receipt) => id !== null && !requestIds.has(id)
  const early = receipts.filter(isEarly)
  if (early.length > 0) {
    await keepEarlyReceipts(db, channelId, early)
    metrics.receipts.inc({ provider, result: 'early' }, early.length)
  }
  return receipts
    .filter((receipt) => !isEarly(receipt))
    .map((receipt) => ({ ...receipt, requestId: requestIds.get(receipt.providerMessageId) ?? '' }))
}
