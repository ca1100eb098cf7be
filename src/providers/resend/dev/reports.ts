import { randomUUID } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import type { Report } from '../../shared/dev/reports.ts'

/** A mail that was taken, as its events repeat it. */
export interface TakenMail {
  id: string
  mail: Record<string, unknown>
}

/** How a mail to `bounced@…` ends: https://resend.com/docs/webhooks/emails/bounced */
const bounce = {
  message: "The recipient's email address is on the suppression list",
  subType: 'Suppressed',
  type: 'Permanent',
}

/**
 * A webhook request with one event, signed as Svix does: https://resend.com/docs/webhooks/event-types
 *
 * @param more fields of this type of event.
 */
export function eventReport(
  { url, secret }: { url: string; secret: string },
  type: string,
  { id, mail: { from, to, subject, tags } }: TakenMail,
  more: object = {},
): Report {
  const at = new Date()
  const data = {
    created_at: at.toISOString().replace('Z', '+00:00'),
    email_id: id,
    from,
    to,
    subject,
    ...(Array.isArray(tags) && { tags: Object.fromEntries(tags.map(({ name, value }) => [name, value])) }),
    ...more,
  }
  const body = JSON.stringify({ type, created_at: at.toISOString(), data })
  return signedReport(url, secret, body, at)
}

export function signedReport(url: string, secret: string, body: string, at: Date): Report {
  const messageId = `msg_${randomUUID()}`
  const headers = {
    'content-type': 'application/json',
    'svix-id': messageId,
    'svix-timestamp': String(Math.floor(at.getTime() / 1000)),
    // Svix signs by the rules of Standard Webhooks.
    'svix-signature': new Webhook(secret).sign(messageId, at, body),
  }
  return { url, headers, body }
}

/** The events of one mail: Resend doesn't promise their order. */
export function usualEvents(
  url: string,
  secret: string,
  taken: TakenMail,
): { afterMs: number; report: Report }[] {
  const isBounced = /^bounced@/.test(String(taken.mail.to))
  const end = isBounced
    ? eventReport({ url, secret }, 'email.bounced', taken, { bounce })
    : eventReport({ url, secret }, 'email.delivered', taken)
  return [
    { afterMs: 100, report: end },
    { afterMs: 200, report: eventReport({ url, secret }, 'email.sent', taken) },
  ]
}
