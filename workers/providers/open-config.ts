import { LRUCache } from 'lru-cache'
import { openConfig } from '../../src/core/channels/sealed-config.ts'
import { type ProviderName, providers } from '../../src/providers/index.ts'

const cachedConfigs = 10_000

/** A channel, as far as opening its config needs it. */
export interface SealedChannel {
  channelId: string
  provider: ProviderName
  sealedConfig: string
}

/** Opens configs, each once: a channel has the same object until its config changes. It throws if no key opens one. */
export function createOpenConfig(keys: readonly Buffer[]) {
  const configs = new LRUCache<string, object>({ max: cachedConfigs })
  return ({ provider, sealedConfig, channelId }: SealedChannel): object => {
    const known = configs.get(sealedConfig)
    if (known) return known
    const opened = openConfig(sealedConfig, channelId, keys)
    const config = providers[provider].config.parse(opened)
    configs.set(sealedConfig, config)
    return config
  }
}
