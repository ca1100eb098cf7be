import { LRUCache } from 'lru-cache'
import type { Channel } from '../../db/accounts/channels.ts'
import type { ProviderRules } from '../core/channels/provider.ts'
import { openConfig } from '../core/channels/sealed-config.ts'
import { type Logger, logFault } from '../platform/log/logger.ts'
import { credentialsKeys, type Settings } from '../platform/settings/settings.ts'
import { providerOf } from '../providers/known.ts'

const cachedChannels = 10_000

/** The rules of a channel's provider, with the limits that the channel's config sets. */
export function channelRules({
  log,
  settings,
}: {
  log: Logger
  settings: Pick<Settings, 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'>
}) {
  const keys = credentialsKeys(settings)
  const known = new LRUCache<string, ProviderRules>({ max: cachedChannels })
  return ({
    provider,
    channelId,
    sealedConfig,
  }: Pick<Channel, 'provider' | 'channelId' | 'sealedConfig'>): ProviderRules => {
    const rules = providerOf(provider)
    if (sealedConfig === null || !rules.limitsOf) return rules
    const cached = known.get(sealedConfig)
    if (cached) return cached
    try {
      const config = rules.config.parse(openConfig(sealedConfig, channelId, keys))
      const narrowed = { ...rules, ...rules.limitsOf(config) }
      known.set(sealedConfig, narrowed)
      return narrowed
    } catch (error) {
      // Another process may have the right key. So the send is accepted within the provider's limits.
      logFault(log, 'channel_config_fault', error, { channelId })
      return rules
    }
  }
}
