import { expect, test } from 'vitest'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import { createRecordReceipts } from '../../src/sends/record-receipts.ts'
import { absentId } from '../support/absent-id.ts'
import { attemptedSend } from '../support/attempts.ts'
import { buildAccount } from '../support/builders.ts'
import { buildReceipt } from '../support/receipts.ts'
import { countsSince } from '../support/scrape.ts'
import { serviceOfFile } from '../support/service.ts'

const service = await serviceOfFile()
const account = await buildAccount(service)
const counts = countsSince(service.runtime.metrics.receipts, 'result')

test('each receipt has its own result, in their order, also beside ids that no send can have; each is counted', async () => {
  const record = createRecordReceipts(service.runtime)
  const requestId = await attemptedSend(service, account, { outcome: 'sent', providerStatus: 200 })
  const receiptOf = (id: string, kind: ReceiptKind) => {
    const { channelIds, fields } = buildReceipt(id.toLowerCase(), account.channelId, kind)
    return { receipt: { ...fields, requestId: id, kind }, channelIds, hasFallback: false }
  }
  await counts()
  const receipts = [
    receiptOf('no id', 'delivered'),
    receiptOf(requestId.toUpperCase(), 'delivered'),
    receiptOf(absentId, 'delivered'),
    receiptOf('', 'read'),
    receiptOf(requestId, 'delivered'),
  ]
  expect(await record({ provider: 'webhook', channelId: account.channelId, receipts })).toEqual([
    'unknown',
    'applied',
    'unknown',
    'unknown',
    'duplicate',
  ])
  expect(await counts()).toEqual({ applied: 1, duplicate: 1, unknown: 3 })
})
