import { mediaLinkMs, mintMediaLink } from '../../src/core/media-link.ts'
import type { ProviderName } from '../../src/core/providers/index.ts'
import type { Settings } from '../../src/platform/settings.ts'
import type { Runtime } from '../../src/runtime.ts'
import { traceHttp } from '../trace-attempt.ts'
import { createHttpClient } from './http.ts'
import { createMediaFetcher } from './media-fetcher.ts'
import type { Provider } from './provider.ts'
import { sandbox } from './sandbox.ts'
import { smtp } from './smtp.ts'
import { twilio } from './twilio.ts'
import { webhook } from './webhook.ts'
import { whatsappCloud } from './whatsapp-cloud.ts'

/** The providers by the names of src/core/providers/. */
export type Providers = Record<ProviderName, Provider>

export interface OpenProviders {
  providers: Providers
  /** Puts off the sends whose media are being fetched. */
  stopFetching(): void
  /** Closes the open connections. */
  close(): Promise<void>
}

/** Opens no connection yet: each provider connects when it is first called. */
export function openProviders({
  db,
  clock,
  metrics,
  settings,
}: Pick<Runtime, 'db' | 'clock' | 'metrics' | 'settings'>): OpenProviders {
  const nowMs = () => clock.nowMs()
  const allowedPrivateNetworks = settings.ALLOWED_PRIVATE_NETWORKS
  const maxConnections = settings.WORKER_CONCURRENCY
  const http = traceHttp(createHttpClient({ allowedPrivateNetworks, nowMs, maxConnections }))
  const media = createMediaFetcher({ allowedPrivateNetworks })
  metrics.beforeScrape.push(() => {
    const { inUse, idle, toOneOrigin } = http.connections()
    metrics.providerConnections.set({ state: 'in_use' }, inUse)
    metrics.providerConnections.set({ state: 'idle' }, idle)
    metrics.maxToOneOrigin.set(toOneOrigin)
  })
  return {
    providers: {
      sandbox: sandbox(db),
      smtp: smtp(media),
      twilio: twilio(http, mediaLinks(settings, nowMs)),
      webhook: webhook(http, nowMs),
      'whatsapp-cloud': whatsappCloud(http),
    },
    stopFetching: () => media.stop(),
    close: async () => void (await Promise.all([http.close(), media.close()])),
  }
}

/** Makes links to the media of sends. Without PUBLIC_BASE_URL, a provider that needs one isn't called (workers/sends/dispatch/prepare-delivery.ts). */
function mediaLinks({ PUBLIC_BASE_URL, CREDENTIALS_KEY }: Settings, nowMs: () => number) {
  return (requestId: string) => {
    if (!PUBLIC_BASE_URL) throw new Error('Set PUBLIC_BASE_URL: links to media need it')
    return mintMediaLink(PUBLIC_BASE_URL, requestId, new Date(nowMs() + mediaLinkMs), CREDENTIALS_KEY)
  }
}
