import { type ProviderName, providerNames } from '../../providers/index.ts'
import type { Emulation, Example } from '../../providers/shared/dev/emulation.ts'
import type { Emulator } from '../../providers/shared/dev/emulator.ts'

type AnyEmulator = Emulator<unknown, never>

/** For the examples of a provider that calls no server. */
const noEmulator: AnyEmulator = { config: {}, calls: [], answerNext() {}, async stop() {} }

/** Each provider's folder has one, which no production build loads: so it is found by its name. */
export async function emulationOf(provider: ProviderName): Promise<Emulation> {
  const { emulation } = await import(/* @vite-ignore */ `../../providers/${provider}/dev/index.ts`)
  return emulation
}

const emulations = new Map(
  await Promise.all(providerNames.map(async (name) => [name, await emulationOf(name)] as const)),
)

/** Every provider except the sandbox, which calls no server. */
export type EmulatedProvider = Exclude<ProviderName, 'sandbox'>
const isEmulated = (name: ProviderName): name is EmulatedProvider => emulations.get(name)?.start !== undefined
export const emulatedProviders = providerNames.filter(isEmulated)

export type Emulators = Readonly<Record<EmulatedProvider, AnyEmulator>>

/** Starts one emulator of each provider, in this process. */
export async function startEmulators(): Promise<Emulators> {
  const started = emulatedProviders.map(async (name) => [name, await emulations.get(name)?.start?.()])
  return Object.fromEntries(await Promise.all(started))
}

/** Sends to play in the demo: of the sandbox, and through each provider to its emulator. */
export const demoExamples = (
  emulators: Emulators,
  channels: Readonly<Record<ProviderName, string>>,
): (Example & { channelId: string })[] =>
  [...emulations].flatMap(([name, { examples }]) =>
    examples(isEmulated(name) ? emulators[name] : noEmulator).map((example) => ({
      ...example,
      channelId: channels[name],
    })),
  )

/** Lets the emulators send receipts to their channels. */
export function reportToChannels(
  emulators: Emulators,
  channels: Record<EmulatedProvider, string>,
  apiUrl: string,
): void {
  for (const provider of emulatedProviders) {
    emulators[provider].reportTo?.(`${apiUrl}/receipts/${channels[provider]}`)
  }
}

export async function stopEmulators(emulators: Emulators): Promise<void> {
  await Promise.all(Object.values(emulators).map((emulator) => emulator.stop()))
}
