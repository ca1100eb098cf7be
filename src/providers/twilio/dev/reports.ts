import { createHmac } from 'node:crypto'
import type { Report } from '../../shared/dev/reports.ts'
import type { TwilioForm } from './message.ts'

/**
 * A status callback: https://www.twilio.com/docs/messaging/guides/outbound-message-status-in-status-callbacks
 *
 * @param url as it was given with the message. Its fragment has options of the connection, and is neither called nor signed.
 */
export function statusCallback(url: string, authToken: string, fields: TwilioForm): Report {
  const [called = ''] = url.split('#')
  const text = Object.keys(fields)
    .sort()
    .map((name) => name + fields[name])
  const signature = createHmac('sha1', authToken)
    .update(called + text.join(''))
    .digest('base64')
  return {
    url: called,
    headers: {
      'content-type': 'application/x-www-form-urlencoded; charset=UTF-8',
      'x-twilio-signature': signature,
    },
    body: new URLSearchParams(fields).toString(),
  }
}

/** The callbacks about one message: Twilio doesn't promise their order. */
export function usualCallbacks(
  { StatusCallback: url, To = '', From = '' }: TwilioForm,
  { accountSid, authToken, sid }: { accountSid: string; authToken: string; sid: string },
): { afterMs: number; report: Report }[] {
  if (!url) return []
  const fields = { AccountSid: accountSid, ApiVersion: '2010-04-01', From, MessageSid: sid, SmsSid: sid, To }
  const about = (MessageStatus: string) =>
    statusCallback(url, authToken, { ...fields, MessageStatus, SmsStatus: MessageStatus })
  return [
    { afterMs: 100, report: about('delivered') },
    { afterMs: 200, report: about('sent') },
  ]
}
