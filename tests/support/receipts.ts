import type { ReceiptRow } from '../../db/receipts/receipts.ts'
import type { ReceiptKind } from '../../src/core/receipts/receipt.ts'
import type { Report } from '../../src/providers/shared/dev/reports.ts'
import { statusReport } from '../../src/providers/whatsapp-cloud/dev/reports.ts'
import type { Answer } from './answer.ts'
import type { Api } from './builders.ts'

export const whatsAppConfig = {
  phoneNumberId: '106540352242922',
  accessToken: 'EAAJB-test',
  appSecret: '0123456789abcdef0123456789abcdef',
  verifyToken: 'token-of-the-webhook',
}

export const receiptsUrl = ({ url }: Api, channelId: string) => `${url}/receipts/${channelId}`

/** WhatsApp's word for each kind of receipt. */
const words: Record<ReceiptKind, string> = {
  accepted: 'sent',
  delivered: 'delivered',
  read: 'read',
  undelivered: 'failed',
  noted: 'auto-replied',
  complained: 'complained',
}

export interface ReportedStatus {
  requestId: string | undefined
  kind: ReceiptKind
  /** Default: an id of its own for each send. */
  messageId?: string
  code?: number
}

/** A signed request of WhatsApp's to a channel. */
export function whatsAppReport(
  service: Api,
  channelId: string,
  statuses: readonly ReportedStatus[],
  config: { phoneNumberId: string; appSecret: string } = whatsAppConfig,
): Report {
  return statusReport(
    receiptsUrl(service, channelId),
    config,
    statuses.map(({ requestId, kind, messageId = `wamid.${requestId}`, code }) => ({
      status: words[kind],
      of: { id: messageId, to: '4915112345678', callbackData: requestId },
      ...(code !== undefined && { errors: [{ code, title: 'Message undeliverable +49 151 12345678' }] }),
    })),
  )
}

export async function sendReport({ url, headers, body }: Report): Promise<Answer> {
  const response = await fetch(url, { method: 'POST', headers, body })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    body: response.headers.get('Content-Type') === 'application/json' ? JSON.parse(text) : text,
  }
}

/** A receipt as the statement takes it. */
export function buildReceipt(
  requestId: string,
  channelId: string,
  kind: ReceiptKind,
  fields: Partial<ReceiptRow['fields']> = {},
): ReceiptRow {
  const providerMessageId = `wamid.${requestId}`
  return {
    requestId,
    channelIds: [channelId],
    kind,
    suppresses: null,
    fields: {
      providerStatus: words[kind],
      providerAt: null,
      providerCode: null,
      providerMessageId,
      ...fields,
    },
  }
}
