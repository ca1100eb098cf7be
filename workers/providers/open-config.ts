import { LRUCache } from 'lru-cache'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import type { Provider } from '../../src/providers/define-provider.ts'
import { providerOf } from '../../src/providers/known.ts'

const cachedConfigs = 10_000

/** A channel, as far as opening its config needs it. */
export interface SealedChannel {
  channelId: string
  provider: string
  sealedConfig: string
}

/** Opens configs, each once: a channel has the same object until its config changes. It throws if no key opens one. */
export function createOpenConfig(keys: readonly Buffer[]) {
  const configs = new LRUCache<string, { config: object; openedBy: Provider }>({ max: cachedConfigs })
  return ({ provider, sealedConfig, channelId }: SealedChannel): object => {
    const openedBy = providerOf(provider)
    const known = configs.get(sealedConfig)
    // Another version of a provider's file may have other defaults.
    if (known?.openedBy === openedBy) return known.config
    const opened = openConfig(sealedConfig, channelId, keys)
    const config = openedBy.config.parse(opened)
    configs.set(sealedConfig, { config, openedBy })
    return config
  }
}
