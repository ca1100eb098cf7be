import { credentialsKeys } from '../../src/platform/settings/settings.ts'
import { providers } from '../../src/providers/index.ts'
import type { Needs } from '../../src/runtime.ts'
import { createOpenConfig, type SealedChannel } from './open-config.ts'

export type RetrySettings = 'RETRY_DELAYS_SECONDS' | 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'

/** Finds the delays between the attempts of a channel's sends: its own, or else those of the settings. */
export function retryDelays({ settings }: Needs<never, RetrySettings>) {
  const configOf = createOpenConfig(credentialsKeys(settings))
  const own = (channel: SealedChannel): readonly number[] | undefined => {
    const { retryDelaysOf } = providers[channel.provider]
    try {
      return retryDelaysOf?.(configOf(channel))
    } catch {
      // Without the key, the worker makes no call either, and logs that.
      return undefined
    }
  }
  return (channel: SealedChannel): readonly number[] => own(channel) ?? settings.RETRY_DELAYS_SECONDS
}
