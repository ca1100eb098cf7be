import type { ProviderRules } from '../channels/provider.ts'
import { resend } from './resend.ts'
import { sandbox } from './sandbox.ts'
import { smtp } from './smtp.ts'
import { twilio } from './twilio.ts'
import { vonage } from './vonage.ts'
import { webhook } from './webhook.ts'
import { whatsappCloud } from './whatsapp-cloud.ts'

/** Every provider by the name that channels use. workers/providers/ has the code that sends, under the same names. */
export const providerRules = {
  resend,
  sandbox,
  smtp,
  twilio,
  vonage,
  webhook,
  'whatsapp-cloud': whatsappCloud,
} as const satisfies Record<string, ProviderRules>

export type ProviderName = keyof typeof providerRules
export const providerNames = Object.keys(providerRules) as ProviderName[]
