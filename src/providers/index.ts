import type { ProviderRules } from '../core/channels/provider.ts'
import { resend } from './resend/config.ts'
import { sandbox } from './sandbox/index.ts'
import { smtp } from './smtp/config.ts'
import { twilio } from './twilio/config.ts'
import { vonage } from './vonage/config.ts'
import { webhook } from './webhook/config.ts'
import { whatsappCloud } from './whatsapp-cloud/config.ts'

/** Every provider by the name that channels use. */
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
