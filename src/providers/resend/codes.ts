import type { SuppressingCodes } from '../../core/suppression/suppression.ts'
import type { CodeTable } from '../shared/code-table.ts'

/**
 * The names of errors that mean the same with every status: https://resend.com/docs/api-reference/errors
 * The others, such as `validation_error`, go by the status.
 */
export const resendCodes: CodeTable = {
  missing_api_key: { outcome: 'channel_refused', fault: 'sender', meaning: 'it got no API key' },
  restricted_api_key: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel's API key lacks the permission to send",
  },
  invalid_api_key: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "it does not accept the channel's API key",
  },
  invalid_from_address: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: "the channel may not send from its from: verify the address's domain",
  },
  invalid_to_address: {
    outcome: 'channel_refused',
    fault: 'sender',
    meaning: 'the account may send only to its own address, until it has verified a domain',
  },
  concurrent_idempotent_requests: {
    outcome: 'retry_later',
    fault: 'provider',
    meaning: 'it is still processing an earlier attempt of this send',
  },
  rate_limit_exceeded: { outcome: 'retry_later', fault: 'sender', meaning: 'it was called too often' },
  daily_quota_exceeded: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: "the account's mails of the day are used up",
    wait: 3_600_000,
  },
  monthly_quota_exceeded: {
    outcome: 'retry_later',
    fault: 'sender',
    meaning: "the account's mails of the month are used up",
    wait: 3_600_000,
  },
  missing_required_field: { outcome: 'rejected', fault: 'message', meaning: 'a field is missing' },
  invalid_attachment: { outcome: 'rejected', fault: 'message', meaning: 'it does not accept the attachment' },
  // The mail of an earlier attempt has got through.
  invalid_idempotent_request: {
    outcome: 'uncertain',
    fault: 'message',
    meaning: 'it already has a mail of this send, with other content',
  },
}

/**
 * The `type` of a bounce: a permanent one is a hard bounce. Not `email.suppressed`, which is about an earlier mail.
 * https://resend.com/docs/dashboard/emails/email-bounces
 */
export const suppressingCodes: SuppressingCodes = { Permanent: 'bounce' }
