import { LRUCache } from 'lru-cache'
import { findMediaContent } from '../db/sends.ts'
import type { Outcome } from '../src/core/outcome.ts'
import { providerRules } from '../src/core/providers/index.ts'
import { openConfig } from '../src/core/sealed-config.ts'
import { logEvent, logFault } from '../src/platform/logger.ts'
import type { Runtime } from '../src/platform/runtime.ts'
import type { EnteredSend } from './deliver.ts'
import type { Delivery } from './provider.ts'
import { createProviders } from './providers/index.ts'

export interface Attempt {
  outcome: Outcome
  durationMs: number
}

const cachedConfigs = 1000

/** Calls the channel's provider once, for `PROVIDER_TIMEOUT_SECONDS` at most. */
export function dispatcher(runtime: Runtime) {
  const { settings, log } = runtime
  const providers = createProviders(runtime)
  const prepare = deliveryPreparer(runtime)

  return async (send: EnteredSend): Promise<Attempt> => {
    logEvent(log, send.requestId, 'attempt_started', { attempt: send.attempt, worker: send.worker })
    const startedAt = performance.now()
    const outcome = await attempt(send)
    return { outcome, durationMs: Math.round(performance.now() - startedAt) }
  }

  async function attempt(send: EnteredSend): Promise<Outcome> {
    const { requestId } = send
    let delivery: Delivery<unknown>
    try {
      delivery = await prepare(send)
    } catch (error) {
      logFault(log, 'dispatch_fault', error, { requestId })
      return { outcome: 'retry_later', reason: 'the call to the provider could not be prepared; see the log' }
    }
    try {
      const signal = AbortSignal.timeout(settings.PROVIDER_TIMEOUT_SECONDS * 1000)
      return await providers[send.provider].send(delivery, signal)
    } catch (error) {
      logFault(log, 'dispatch_fault', error, { requestId })
      return { outcome: 'uncertain', reason: 'the call to the provider broke off; see the log' }
    }
  }
}

/** Gathers what the claim doesn't hold: the channel's config, opened, and the bytes of media. */
function deliveryPreparer({ db, settings }: Runtime) {
  const configs = new LRUCache<string, object>({ max: cachedConfigs })
  const configOf = ({ provider, sealedConfig, channelId }: EnteredSend): object => {
    const known = configs.get(sealedConfig)
    if (known) return known
    const config = providerRules[provider].config.parse(
      openConfig(sealedConfig, channelId, settings.CREDENTIALS_KEY),
    )
    configs.set(sealedConfig, config)
    return config
  }
  return async (send: EnteredSend): Promise<Delivery<unknown>> => {
    const { message } = send
    const hasContent = message.type === 'media' && message.media.sizeBytes !== undefined
    const mediaContent = hasContent ? await findMediaContent(db, send.requestId) : undefined
    return { ...send, config: configOf(send), mediaContent }
  }
}
