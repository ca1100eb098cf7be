import type { Context } from 'hono'
import type { ReadReceipts } from '../../core/receipts/receipt.ts'
import type { Needs } from '../../runtime.ts'
import type { FallbackSettings } from '../../sends/fall-back.ts'
import { createRecordReceipts } from '../../sends/record-receipts.ts'
import type { ApiEnv } from '../context.ts'
import type { AddressedReceipt } from './address-channels.ts'
import type { OpenChannel } from './find-channel.ts'

type Read = Omit<ReadReceipts, 'receipts'> & { receipts: readonly AddressedReceipt[] }

/** Commits the receipts in PostgreSQL, and counts what else the request reported. */
export function createRecord(
  runtime: Needs<'db' | 'clock' | 'log' | 'metrics' | 'shards', FallbackSettings>,
) {
  const record = createRecordReceipts(runtime)
  const { metrics } = runtime
  return async (
    c: Context<ApiEnv>,
    { provider, channelId }: OpenChannel,
    { receipts, unexpected, unreadable }: Read,
  ): Promise<void> => {
    await c.get('deadline').spend(record({ provider, channelId, receipts }))
    metrics.receipts.inc({ provider, result: 'unexpected' }, unexpected)
    metrics.receipts.inc({ provider, result: 'unreadable' }, unreadable)
  }
}
