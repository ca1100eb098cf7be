import { providerNames } from '../../src/providers/index.ts'
import type { Providers } from '../../workers/providers/index.ts'
import type { Provider } from '../../workers/providers/provider.ts'

/** Every provider sends like this one. */
export function alikeProviders(provider: Provider): Providers {
  return Object.fromEntries(providerNames.map((name) => [name, provider])) as Providers
}
