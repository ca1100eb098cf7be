import { z } from 'zod'
import { contactTypes } from '../../core/contacts/contact.ts'
import { textTemplate } from '../../core/messages/text-template.ts'
import { meaningOfStatus } from '../../core/requests/http-status.ts'
import { defineProvider } from '../define-provider.ts'

/** Accepts every message and delivers to nobody, to try the service without a provider. */
export const sandbox = defineProvider({
  what: 'nothing: it keeps the messages',
  contactTypes,
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  sendsSms: true,
  onUncertain: 'hold',
  mail: {},
  template: textTemplate,
  config: z.strictObject({}),
  call: 'sandbox',
  meaningOf: ({ providerStatus, providerCode }) =>
    providerCode === 'rejected'
      ? 'the sandbox refuses this recipient, always'
      : meaningOfStatus(providerStatus),
})
