import { createHash, createHmac, randomUUID } from 'node:crypto'
import type { Report } from '../../shared/dev/reports.ts'

/** A message that was taken. */
export interface TakenMessage {
  id: string
  message: Record<string, unknown>
}

/**
 * A status callback, with a token that has the hash of its body:
 * https://developer.vonage.com/en/messages/concepts/messages-status-callbacks and
 * https://developer.vonage.com/en/getting-started/concepts/webhooks#decoding-signed-webhooks
 *
 * @param more fields of this status.
 */
export function statusReport(
  { url, signatureSecret }: { url: string; signatureSecret: string },
  status: string,
  { id, message: { to, from, channel, client_ref } }: TakenMessage,
  more: object = {},
): Report {
  const timestamp = new Date().toISOString()
  const body = JSON.stringify({ message_uuid: id, to, from, timestamp, status, channel, client_ref, ...more })
  return signedReport(url, signatureSecret, body, { iat: Math.floor(Date.now() / 1000) })
}

/** @param claims over the usual ones. */
export function signedReport(url: string, signatureSecret: string, body: string, claims: object): Report {
  const all = {
    iss: 'Vonage',
    jti: randomUUID(),
    api_key: 'a1b2c3d4',
    payload_hash: createHash('sha256').update(body).digest('hex'),
    ...claims,
  }
  const text = [{ alg: 'HS256', typ: 'JWT' }, all]
    .map((part) => Buffer.from(JSON.stringify(part)).toString('base64url'))
    .join('.')
  const signature = createHmac('sha256', signatureSecret).update(text).digest('base64url')
  const headers = { 'content-type': 'application/json', authorization: `Bearer ${text}.${signature}` }
  return { url, headers, body }
}

/** The callbacks about one message. Only WhatsApp tells that a message was read. */
export function usualStatuses(
  url: string,
  signatureSecret: string,
  taken: TakenMessage,
): { afterMs: number; report: Report }[] {
  const about = (status: string) => statusReport({ url, signatureSecret }, status, taken)
  const usual = [
    { afterMs: 100, report: about('delivered') },
    { afterMs: 200, report: about('submitted') },
  ]
  return taken.message.channel === 'whatsapp' ? [...usual, { afterMs: 300, report: about('read') }] : usual
}
