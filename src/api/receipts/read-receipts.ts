import type { ReadReceipts, ReceiptRequest } from '../../core/receipts/receipt.ts'
import type { Needs } from '../../runtime.ts'
import { ApiError } from '../errors.ts'
import type { OpenChannel } from './find-channel.ts'

export const unreadable = (issue: string) => new ApiError('invalid_receipt', issue)

/**
 * Reads the receipts of a proven request. Receipts that mean nothing here are counted by the next step, and answered with 200: otherwise the
 * provider would repeat it for days.
 *
 * @throws ApiError 400 if the request as a whole can't be read.
 */
export async function readReceipts(
  { metrics }: Needs<'metrics'>,
  { provider, rules, config }: OpenChannel,
  request: ReceiptRequest,
): Promise<ReadReceipts> {
  const read = await rules.read(request, config)
  if (!('issue' in read)) return read
  metrics.receipts.inc({ provider, result: 'unreadable' })
  throw unreadable(read.issue)
}
