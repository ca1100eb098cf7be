import { receiptsLink } from '../../../core/receipts/receipts-link.ts'
import type { CallContext } from '../../shared/http/http-call.ts'

const nowSeconds = 1_795_442_400
const publicBaseUrl = 'https://messages.example.com'

/** What a request needs of the service, as examples have it. */
export const checkContext: CallContext & {
  nowSeconds: number
  publicBaseUrl: string
  channelId: string
  requestId: string
} = {
  nowSeconds,
  publicBaseUrl,
  channelId: '01a1fde3-04b0-709e-bec0-b940cc7af3c0',
  requestId: '01a1fde3-04b0-709e-bec0-000000000000',
  nowMs: () => nowSeconds * 1000,
  mediaLink: (requestId) => `${publicBaseUrl}/media/${requestId}`,
  receiptsLink: (channelId, requestId) => receiptsLink(publicBaseUrl, channelId, requestId),
  accessToken: 'TOKEN',
  traceparent: () => undefined,
}
