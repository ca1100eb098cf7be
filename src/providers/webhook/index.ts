import { contactTypes } from '../../core/contacts/contact.ts'
import { textTemplate } from '../../core/messages/text-template.ts'
import { meaningOfStatus } from '../../core/requests/http-status.ts'
import { defineProvider } from '../define-provider.ts'
import { readAnswer, statuses } from './answer.ts'
import { config } from './config.ts'
import { webhookReceipts } from './receipts.ts'
import { requestFor } from './request.ts'

const ownMeanings: Record<number, string> = {
  401: 'the receiver does not accept the signature (its secret or its clock differs)',
  410: 'the receiver accepts no more messages from this channel',
}

/** Posts every message to the client's own server, signed by Standard Webhooks (docs/reference/providers/webhook.md). */
export const webhook = defineProvider({
  what: 'calls to a server of your own',
  contactTypes,
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  // The receiver recognises a repeat by its webhook-id.
  onUncertain: 'resend',
  mail: {},
  template: textTemplate,
  config,
  retryDelaysOf: ({ retryDelaysSeconds }) => retryDelaysSeconds,
  call: { label: 'the receiver', request: requestFor, read: readAnswer, statuses },
  meaningOf: ({ providerStatus = 0 }) => ownMeanings[providerStatus] ?? meaningOfStatus(providerStatus),
  receipts: webhookReceipts,
})
