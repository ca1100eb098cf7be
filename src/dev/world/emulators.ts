import { type ProviderName, providerNames } from '../../providers/index.ts'
import type { Emulation, Example } from '../../providers/shared/dev/emulation.ts'
import type { Emulator } from '../../providers/shared/dev/emulator.ts'

type AnyEmulator = Emulator<unknown, never>

/** Each provider's folder has one, which no production build loads: so it is found by its name. */
export async function emulationOf(provider: ProviderName): Promise<Emulation> {
  const { emulation } = await import(/* @vite-ignore */ `../../providers/${provider}/dev/index.ts`)
  return emulation
}

const emulations = await Promise.all(
  providerNames.map(async (name): Promise<[ProviderName, Emulation]> => [name, await emulationOf(name)]),
)

/** Every provider except the sandbox, which calls no server. */
export type EmulatedProvider = Exclude<ProviderName, 'sandbox'>
export const emulatedProviders = emulations
  .filter(([, { start }]) => start)
  .map(([name]) => name) as EmulatedProvider[]

export type Emulators = Readonly<Record<EmulatedProvider, AnyEmulator>>

/** Starts one emulator of each provider, in this process. */
export async function startEmulators(): Promise<Emulators> {
  const started = emulations.map(async ([name, { start }]) => start && [name, await start()])
  return Object.fromEntries((await Promise.all(started)).filter((one) => one !== undefined))
}

/** Sends to play in the demo: of the sandbox, and through each provider to its emulator. */
export const demoExamples = (
  emulators: Emulators,
  channels: Readonly<Record<ProviderName, string>>,
): (Example & { channelId: string })[] =>
  emulations.flatMap(([name, { examples }]) =>
    examples((emulators as Record<string, AnyEmulator>)[name] as AnyEmulator).map((example) => ({
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
