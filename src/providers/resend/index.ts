import { defineProvider } from '../define-provider.ts'
import { mailTemplate } from '../shared/mail/mail-template.ts'
import { readAnswer, statuses } from './answer.ts'
import { resendCodes, suppressingCodes } from './codes.ts'
import { config, filenameIssue, mailIssue } from './config.ts'
import { resendReceipts } from './receipts.ts'
import { requestFor } from './request.ts'

const attached = { hasCaption: true, filenameIssue }

/** Sends every message as a mail, by Resend (docs/reference/providers/resend.md). */
export const resend = defineProvider({
  what: 'mails, by Resend',
  contactTypes: ['email'],
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  media: { image: attached, video: attached, document: attached, audio: attached },
  // It recognises a repeat by its Idempotency-Key.
  onUncertain: 'resend',
  mail: { issueOf: mailIssue },
  template: mailTemplate,
  config,
  call: {
    label: 'Resend',
    request: requestFor,
    read: readAnswer,
    statuses,
    secretsOf: ({ apiKey }) => [apiKey],
    codeInWords: (code) => `(${code})`,
  },
  codes: resendCodes,
  suppressingCodes,
  receipts: resendReceipts,
})
