import { providerNames } from '../../src/providers/index.ts'
import type { Senders } from '../../workers/providers/index.ts'
import type { Sender } from '../../workers/providers/sender.ts'

/** Every provider sends like this one. */
export function alikeProviders(provider: Sender): Senders {
  return Object.fromEntries(providerNames.map((name) => [name, provider])) as Senders
}
