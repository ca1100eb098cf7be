import { createHmac } from 'node:crypto'
import type { Report } from '../../shared/dev/reports.ts'

/** A message that was taken. */
export interface TakenMessage {
  id: string
  to: string
  callbackData: unknown
}

interface Sender {
  phoneNumberId: string
  appSecret: string
}

/**
 * A webhook request with statuses, signed over the bytes that are sent.
 * https://developers.facebook.com/documentation/business-messaging/whatsapp/webhooks/reference/messages/status
 */
export function statusReport(
  url: string,
  { phoneNumberId, appSecret }: Sender,
  statuses: readonly { status: string; of: TakenMessage; errors?: object[] }[],
): Report {
  const timestamp = String(Math.floor(Date.now() / 1000))
  const value = {
    messaging_product: 'whatsapp',
    metadata: { display_phone_number: '15550783881', phone_number_id: phoneNumberId },
    statuses: statuses.map(({ status, of: { id, to, callbackData }, errors }) => ({
      id,
      status,
      timestamp,
      recipient_id: to,
      // Only if it was set with the message.
      ...(callbackData !== undefined && { biz_opaque_callback_data: callbackData }),
      ...(errors && { errors }),
    })),
  }
  const entry = [{ id: '102290129340398', changes: [{ value, field: 'messages' }] }]
  // Meta escapes what isn't ASCII, and signs it so.
  const body = JSON.stringify({ object: 'whatsapp_business_account', entry }).replace(
    /[\u0080-\uffff]/g,
    (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
  const signature = createHmac('sha256', appSecret).update(body).digest('hex')
  return {
    url,
    headers: { 'content-type': 'application/json', 'x-hub-signature-256': `sha256=${signature}` },
    body,
  }
}

/** The requests about one message: batched, out of order, and one of them twice, as they may come. */
export function usualReports(
  url: string,
  sender: Sender,
  of: TakenMessage,
): { afterMs: number; report: Report }[] {
  const arrived = statusReport(url, sender, [
    { status: 'delivered', of },
    { status: 'sent', of },
  ])
  return [
    { afterMs: 100, report: arrived },
    { afterMs: 200, report: statusReport(url, sender, [{ status: 'read', of }]) },
    { afterMs: 300, report: arrived },
  ]
}
