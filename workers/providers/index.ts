import { mediaLinkMs, mintMediaLink } from '../../src/core/messages/media-link.ts'
import type { Settings } from '../../src/platform/settings/settings.ts'
import type { ProviderName } from '../../src/providers/index.ts'
import { resend } from '../../src/providers/resend/request.ts'
import { statusCallbackUrl } from '../../src/providers/twilio/receipts.ts'
import { twilio } from '../../src/providers/twilio/request.ts'
import { vonage } from '../../src/providers/vonage/request.ts'
import { webhook } from '../../src/providers/webhook/request.ts'
import { whatsappCloud } from '../../src/providers/whatsapp-cloud/request.ts'
import type { Runtime } from '../../src/runtime.ts'
import { createRecordReceipts } from '../../src/sends/record-receipts.ts'
import { createHttpClient } from '../http/http.ts'
import { createMediaFetcher } from '../http/media-fetcher.ts'
import { traceHttp } from '../http/trace-http.ts'
import type { Provider } from './provider.ts'
import { sandbox } from './sandbox.ts'
import { smtp } from './smtp.ts'
import { openSmtpConnections } from './smtp-connections.ts'

/** The providers by the names of src/providers/index.ts. */
export type Providers = Record<ProviderName, Provider>

export interface OpenProviders {
  providers: Providers
  /** Puts off the sends whose media are being fetched. */
  stopFetching(): void
  /** Closes the open connections. */
  close(): Promise<void>
}

/** Opens no connection yet: each provider connects when it is first called. */
export function openProviders(
  runtime: Pick<Runtime, 'db' | 'clock' | 'log' | 'metrics' | 'settings'>,
): OpenProviders {
  const { db, clock, metrics, settings } = runtime
  const nowMs = () => clock.nowMs()
  const allowedPrivateNetworks = settings.ALLOWED_PRIVATE_NETWORKS
  const maxConnections = settings.WORKER_CONCURRENCY
  const calling = { allowedPrivateNetworks, requiresTls: true, nowMs, maxConnections }
  const http = traceHttp(createHttpClient(calling))
  const media = createMediaFetcher({ allowedPrivateNetworks: settings.CLIENT_PRIVATE_NETWORKS })
  metrics.beforeScrape.push(() => {
    const { inUse, idle, toOneOrigin } = http.connections()
    metrics.providerConnections.set({ state: 'in_use' }, inUse)
    metrics.providerConnections.set({ state: 'idle' }, idle)
    metrics.maxToOneOrigin.set(toOneOrigin)
  })
  const linkTo = mediaLinks(settings, nowMs)
  const providers: Providers = {
    resend: resend(http),
    sandbox: sandbox(db, createRecordReceipts(runtime)),
    smtp: smtp(media, {}, openSmtpConnections(), allowedPrivateNetworks),
    twilio: twilio(http, linkTo, receiptLinks(settings)),
    vonage: vonage(http, linkTo, nowMs),
    webhook: webhook(http, nowMs),
    'whatsapp-cloud': whatsappCloud(http),
  }
  const ownConnections = () => Object.values(providers).map((provider) => provider.close?.())
  return {
    providers,
    stopFetching: () => media.stop(),
    close: async () => void (await Promise.all([http.close(), media.close(), ...ownConnections()])),
  }
}

/** Makes links for receipts. Without PUBLIC_BASE_URL, the provider isn't called, as for media. */
function receiptLinks({ PUBLIC_BASE_URL }: Settings) {
  return (channelId: string, requestId: string) => {
    if (!PUBLIC_BASE_URL) throw new Error('Set PUBLIC_BASE_URL: links for receipts need it')
    return statusCallbackUrl(PUBLIC_BASE_URL, channelId, requestId)
  }
}

/** Makes links to the media of sends. Without PUBLIC_BASE_URL, a provider that needs one isn't called (workers/sends/dispatch/prepare-delivery.ts). */
function mediaLinks({ PUBLIC_BASE_URL, CREDENTIALS_KEY }: Settings, nowMs: () => number) {
  return (requestId: string) => {
    if (!PUBLIC_BASE_URL) throw new Error('Set PUBLIC_BASE_URL: links to media need it')
    return mintMediaLink(PUBLIC_BASE_URL, requestId, new Date(nowMs() + mediaLinkMs), CREDENTIALS_KEY)
  }
}
