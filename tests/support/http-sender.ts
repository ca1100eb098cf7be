import type { Provider } from '../../src/providers/define-provider.ts'
import type { CallContext } from '../../src/providers/shared/http/http-call.ts'
import type { HttpClient } from '../../workers/http/http.ts'
import { createHttpSender } from '../../workers/providers/http-sender.ts'
import type { Sender } from '../../workers/providers/sender.ts'

/** Links as a service would make them, at a public address. */
const links: CallContext = {
  nowMs: Date.now,
  mediaLink: (requestId) => `https://messages.example.com/media/${requestId}.1.signature`,
  receiptsLink: (channelId, requestId) =>
    `https://messages.example.com/receipts/${channelId}?requestId=${requestId}`,
  traceparent: () => undefined,
}

/** Sends by a provider of HTTP, as the worker does. */
export function httpSender<Config>(
  { call, codes }: Pick<Provider<Config>, 'call' | 'codes'>,
  http: Pick<HttpClient, 'post'>,
  context: Partial<CallContext> = {},
): Sender<Config> {
  if (typeof call === 'string') throw new Error(`${call} is no provider that is called by HTTP`)
  return createHttpSender(http, { call, codes }, { ...links, ...context })
}
