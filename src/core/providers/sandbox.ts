import { z } from 'zod'
import { meaningOfStatus } from '../http-status.ts'
import type { ProviderRules } from '../provider.ts'
import { textTemplate } from '../text-template.ts'

/** Accepts every message and delivers to nobody, to try the service without a provider. */
export const sandbox = {
  contactTypes: ['phone', 'email'],
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
