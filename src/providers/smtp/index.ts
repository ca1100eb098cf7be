import { defineProvider } from '../define-provider.ts'
import { mailTemplate } from '../shared/mail/mail-template.ts'
import { steeringHeaderIssue } from '../shared/mail/steering-headers.ts'
import { config } from './config.ts'
import { smtpReceipts } from './receipts.ts'
import { failureOfCode, meaningOfReply } from './replies/meanings.ts'

/** Sends every message as a mail, by an SMTP server (docs/reference/providers/smtp.md). */
export const smtp = defineProvider({
  what: 'mails, by a mail server',
  contactTypes: ['email'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  onUncertain: 'hold',
  mail: { issueOf: steeringHeaderIssue },
  template: mailTemplate,
  config,
  // mail.ts composes the mail, and outcome.ts reads the server's replies.
  call: 'smtp',
  meaningOf: meaningOfReply,
  failureOf: failureOfCode,
  receipts: smtpReceipts,
})
