import { credentialsKeys } from '../../src/platform/settings/settings.ts'
import { findProvider } from '../../src/providers/known.ts'
import type { Needs } from '../../src/runtime.ts'
import { createOpenConfig, type SealedChannel } from './open-config.ts'

export type RetrySettings = 'RETRY_DELAYS_SECONDS' | 'CREDENTIALS_KEY' | 'CREDENTIALS_KEY_PREVIOUS'

/** Finds the delays between the attempts of a channel's sends: its own, or else those of the settings. */
export function retryDelays({ settings }: Needs<never, RetrySettings>) {
  const configOf = createOpenConfig(credentialsKeys(settings))
  const own = (channel: SealedChannel): readonly number[] | undefined => {
    try {
      return findProvider(channel.provider)?.retryDelaysOf?.(configOf(channel))
    } catch {
      // Without the key, the worker makes no call either, and logs that.
      return undefined
    }
  }
  return (channel: SealedChannel): readonly number[] => own(channel) ?? settings.RETRY_DELAYS_SECONDS
}
