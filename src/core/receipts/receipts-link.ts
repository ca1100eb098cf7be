/** Where a provider sends a send's receipts, if it is given an address with each message. */
export const receiptsLink = (publicBaseUrl: string, channelId: string, requestId: string): string =>
  `${publicBaseUrl.replace(/\/+$/, '')}/receipts/${channelId}?requestId=${requestId}`
