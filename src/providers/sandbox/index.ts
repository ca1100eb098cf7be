import { z } from 'zod'
import type { ProviderRules } from '../../core/channels/provider.ts'
import { contactTypes } from '../../core/contacts/contact.ts'
import { textTemplate } from '../../core/messages/text-template.ts'
import { meaningOfStatus } from '../../core/requests/http-status.ts'

/** Accepts every message and delivers to nobody, to try the service without a provider. */
export const sandbox = {
  contactTypes,
  messageTypes: ['text', 'template', 'media'],
  maxTextCharacters: 4096,
  onUncertain: 'hold',
  template: textTemplate,
  meaningOf: ({ providerStatus, providerCode }) =>
    providerCode === 'rejected'
      ? 'the sandbox refuses this recipient, always'
      : meaningOfStatus(providerStatus),
  config: z.strictObject({}),
} as const satisfies ProviderRules
