import type { ProviderName } from '../../src/core/providers/index.ts'
import type { Runtime } from '../../src/platform/runtime.ts'
import type { Provider } from '../provider.ts'
import { sandbox } from './sandbox.ts'

/** How each provider sends, by the names of src/core/providers/. */
export function createProviders({ db }: Runtime): Record<ProviderName, Provider> {
  return { sandbox: sandbox(db) }
}
