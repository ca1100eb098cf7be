import { mediaLinkMs, mintMediaLink } from '../../src/core/messages/media-link.ts'
import { receiptsLink } from '../../src/core/receipts/receipts-link.ts'
import { activeTraceparent } from '../../src/platform/log/tracing.ts'
import type { Settings } from '../../src/platform/settings/settings.ts'
import type { Provider } from '../../src/providers/define-provider.ts'
import { findProvider } from '../../src/providers/known.ts'
import type { CallContext } from '../../src/providers/shared/http/http-call.ts'
import type { Runtime } from '../../src/runtime.ts'
import { createRecordReceipts } from '../../src/sends/record-receipts.ts'
import { createHttpClient } from '../http/http.ts'
import { createMediaFetcher } from '../http/media-fetcher.ts'
import { traceHttp } from '../http/trace-http.ts'
import { createHttpSender } from './http-sender.ts'
import { createSandboxSender } from './sandbox.ts'
import type { Sender } from './sender.ts'
import { createSmtpSender } from './smtp.ts'
import { openSmtpConnections } from './smtp-connections.ts'

/** The sender of the provider of this name; undefined if no provider has it. */
export type Senders = (provider: string) => Sender | undefined

export interface OpenProviders {
  senders: Senders
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
  const own: Record<Exclude<Provider['call'], object>, Sender<never>> = {
    sandbox: createSandboxSender(db, createRecordReceipts(runtime)),
    smtp: createSmtpSender(media, {}, openSmtpConnections(), allowedPrivateNetworks),
  }
  const context = callContext(settings, nowMs)
  const senderOf = ({ call, codes, takesContent }: Provider): Sender => {
    if (typeof call === 'string') return own[call]
    const sender = createHttpSender(http, { call, codes }, context)
    return takesContent ? { ...sender, media } : sender
  }
  const made = new WeakMap<Provider, Sender>()
  const senders: Senders = (name) => {
    const provider = findProvider(name)
    if (!provider) return undefined
    const sender = made.get(provider) ?? senderOf(provider)
    made.set(provider, sender)
    return sender
  }
  const ownConnections = () => Object.values(own).map((sender) => sender.close?.())
  return {
    senders,
    stopFetching: () => media.stop(),
    close: async () => void (await Promise.all([http.close(), media.close(), ...ownConnections()])),
  }
}

/** Without PUBLIC_BASE_URL, a provider that needs a link isn't called (workers/sends/dispatch/prepare-delivery.ts). */
function callContext(
  { PUBLIC_BASE_URL = '', CREDENTIALS_KEY }: Pick<Settings, 'PUBLIC_BASE_URL' | 'CREDENTIALS_KEY'>,
  nowMs: () => number,
): CallContext {
  const needed = (what: string) => {
    if (!PUBLIC_BASE_URL) throw new Error(`Set PUBLIC_BASE_URL: links ${what} need it`)
    return PUBLIC_BASE_URL
  }
  return {
    nowMs,
    mediaLink: (requestId) =>
      mintMediaLink(needed('to media'), requestId, new Date(nowMs() + mediaLinkMs), CREDENTIALS_KEY),
    receiptsLink: (channelId, requestId) => receiptsLink(needed('for receipts'), channelId, requestId),
    traceparent: activeTraceparent,
  }
}
