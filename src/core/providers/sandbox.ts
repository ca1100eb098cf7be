import { z } from 'zod'
import type { ProviderRules } from '../channels/provider.ts'
import { contactTypes } from '../contacts/contact.ts'
import { textTemplate } from '../messages/text-template.ts'
import { meaningOfStatus } from '../requests/http-status.ts'

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
