import { createReports, type Report } from '../../shared/dev/reports.ts'

/** A mail that was taken, of one recipient. */
export interface TakenMail {
  envelopeId: string | null
  /** The return path. */
  from: string
  to: string
  /** The headers of the mail, for the report to return. */
  headers: string
}

/**
 * A report on a mail's delivery, as a mail server makes it and its pipe posts it: https://www.rfc-editor.org/rfc/rfc3464
 *
 * @param token the channel's bounceToken.
 */
export function deliveryReport(
  url: string,
  token: string,
  mail: TakenMail,
  { action, status, diagnostic }: { action: string; status: string; diagnostic: string },
): Report {
  const boundary = 'report-of-the-emulator'
  const lines = [
    'From: Mail Delivery System <MAILER-DAEMON@mail.example.org>',
    `To: ${mail.from}`,
    'Subject: Delivery Status Notification',
    `Date: ${new Date().toUTCString().replace('GMT', '+0000')}`,
    'Auto-Submitted: auto-replied',
    'MIME-Version: 1.0',
    `Content-Type: multipart/report; report-type=delivery-status; boundary="${boundary}"`,
    '',
    `--${boundary}`,
    'Content-Type: text/plain; charset=us-ascii',
    '',
    `This is the mail system at mail.example.org. ${mail.to}: ${diagnostic}`,
    '',
    `--${boundary}`,
    'Content-Type: message/delivery-status',
    '',
    'Reporting-MTA: dns; mail.example.org',
    ...(mail.envelopeId === null ? [] : [`Original-Envelope-Id: ${mail.envelopeId}`]),
    '',
    `Final-Recipient: rfc822; ${mail.to}`,
    `Action: ${action}`,
    `Status: ${status}`,
    `Diagnostic-Code: smtp; ${diagnostic}`,
    '',
    `--${boundary}`,
    'Content-Type: text/rfc822-headers',
    '',
    mail.headers,
    '',
    `--${boundary}--`,
    '',
  ]
  return {
    url,
    headers: { 'content-type': 'message/rfc822', authorization: `Bearer ${token}` },
    body: lines.join('\r\n'),
  }
}

interface Envelope {
  envelopeId: string | null
  from: string | undefined
  to: string[]
}

/** Reports on mails that were taken. */
export function createMailReports(token: string) {
  const { later, stop } = createReports()
  let url: string | undefined
  return {
    stop,
    reportTo(given: string): void {
      url = given
    },
    report({ envelopeId, from = '', to: [to = ''] }: Envelope, raw: Buffer): void {
      const [headers = ''] = raw.toString().split('\r\n\r\n')
      if (url !== undefined) later(100, usualReport(url, token, { envelopeId, from, to, headers }))
    },
  }
}

/** The report that the recipient's server makes: mails to `bounces@…` come back after it has taken them. */
function usualReport(url: string, token: string, mail: TakenMail): Report {
  const result = mail.to.startsWith('bounces@')
    ? { action: 'failed', status: '5.1.1', diagnostic: `550 5.1.1 <${mail.to}>: no such mailbox` }
    : { action: 'delivered', status: '2.0.0', diagnostic: '250 2.0.0 delivered' }
  return deliveryReport(url, token, mail, result)
}
