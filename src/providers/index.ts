import type { Provider } from './define-provider.ts'
import { resend } from './resend/index.ts'
import { sandbox } from './sandbox/index.ts'
import { smtp } from './smtp/index.ts'
import { twilio } from './twilio/index.ts'
import { vonage } from './vonage/index.ts'
import { webhook } from './webhook/index.ts'
import { whatsappCloud } from './whatsapp-cloud/index.ts'

const registered = {
  resend,
  sandbox,
  smtp,
  twilio,
  vonage,
  webhook,
  'whatsapp-cloud': whatsappCloud,
} satisfies Record<string, Provider>

export type ProviderName = keyof typeof registered

/** Every provider by the name that channels use, which is the name of its folder. */
export const providers: Readonly<Record<ProviderName, Provider>> = registered
export const providerNames = Object.keys(providers) as ProviderName[]
