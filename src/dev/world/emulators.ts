import type { ProviderName } from '../../providers/index.ts'
import { openResendEmulator } from '../../providers/resend/dev/emulator.ts'
import type { Emulator } from '../../providers/shared/dev/emulator.ts'
import { openSmtpEmulator } from '../../providers/smtp/dev/emulator.ts'
import { startTwilioEmulator } from '../../providers/twilio/dev/emulator.ts'
import { openVonageEmulator } from '../../providers/vonage/dev/emulator.ts'
import { startWebhookEmulator } from '../../providers/webhook/dev/emulator.ts'
import { openWhatsAppEmulator } from '../../providers/whatsapp-cloud/dev/emulator.ts'

/** Every provider except the sandbox, which calls no server. */
export type EmulatedProvider = Exclude<ProviderName, 'sandbox'>

const starts = {
  resend: openResendEmulator,
  smtp: () => openSmtpEmulator({ isReporting: true }),
  twilio: () => startTwilioEmulator({ fetchesMedia: true, reports: true }),
  vonage: openVonageEmulator,
  webhook: startWebhookEmulator,
  'whatsapp-cloud': openWhatsAppEmulator,
} as const satisfies Record<EmulatedProvider, () => Promise<Emulator<unknown, never>>>

export const emulatedProviders = Object.keys(starts) as EmulatedProvider[]

export type Emulators = { [Name in EmulatedProvider]: Awaited<ReturnType<(typeof starts)[Name]>> }

/** Starts one emulator of each provider, in this process. */
export async function startEmulators(): Promise<Emulators> {
  const started = Object.entries(starts).map(async ([name, start]) => [name, await start()])
  return Object.fromEntries(await Promise.all(started))
}

/** Lets the emulators send receipts to their channels. */
export function reportToChannels(
  emulators: Emulators,
  channels: Record<EmulatedProvider, string>,
  apiUrl: string,
): void {
  for (const provider of emulatedProviders) {
    const emulator: Emulator<unknown, never> = emulators[provider]
    emulator.reportTo?.(`${apiUrl}/receipts/${channels[provider]}`)
  }
}

export async function stopEmulators(emulators: Emulators): Promise<void> {
  await Promise.all(Object.values(emulators).map((emulator) => emulator.stop()))
}
