import type { Database } from '../../db/client.ts'
import type { ProviderName } from '../../src/core/providers/index.ts'
import type { Settings } from '../../src/platform/settings.ts'
import type { Provider } from '../provider.ts'
import { createMediaFetcher } from './fetch-media.ts'
import { createHttpClient } from './http.ts'
import { sandbox } from './sandbox.ts'
import { smtp } from './smtp.ts'
import { webhook } from './webhook.ts'

/** How each provider sends, by the names of src/core/providers/. */
export type Providers = Record<ProviderName, Provider>

export interface OpenProviders {
  providers: Providers
  /** Closes the connections they keep. */
  close(): Promise<void>
}

/** Connects nothing yet: each provider does when it is first called. */
export function openProviders(db: Database, settings: Settings): OpenProviders {
  const allowedPrivateNetworks = settings.ALLOWED_PRIVATE_NETWORKS
  const http = createHttpClient({ allowedPrivateNetworks })
  const media = createMediaFetcher({ allowedPrivateNetworks })
  return {
    providers: { sandbox: sandbox(db), smtp: smtp(media), webhook: webhook(http) },
    close: async () => void (await Promise.all([http.close(), media.close()])),
  }
}
