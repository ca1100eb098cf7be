import { type ProviderName, providerNames } from '../../src/core/providers/index.ts'
import type { Provider } from '../../workers/provider.ts'
import type { Providers } from '../../workers/providers/index.ts'

/** The same way of sending under the name of every provider. */
export function everyProvider(send: Provider['send']): Providers {
  return Object.fromEntries(
    providerNames.map((name): [ProviderName, Provider] => [name, { send }]),
  ) as Providers
}
