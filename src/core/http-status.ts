const meanings: Record<number, string> = {
  400: 'it finds the request faulty',
  401: "it does not accept the channel's credentials",
  403: 'it does not allow this',
  404: 'nothing is at the address that was called',
  405: 'the address that was called takes no such call',
  408: 'it waited too long for the request',
  409: 'it says that this is in conflict with what it has',
  410: 'what was called is gone for good',
  413: 'the message is too large for it',
  415: 'it does not take this type of content',
  422: 'it cannot do anything with the content',
  425: 'it does not take the request so early',
  429: 'it was called too often',
  500: 'it had a fault of its own',
  502: 'what stands behind it did not answer as it should',
  503: 'it is out of service or overloaded',
  504: 'what stands behind it did not answer in time',
}

/** What an HTTP status that is no success says of whoever answered. */
export function meaningOfStatus(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  if (meanings[status]) return meanings[status]
  if (status >= 300 && status < 400) return 'it redirects, which is not followed'
  if (status >= 400 && status < 500) return meanings[400]
  return status >= 500 ? meanings[500] : undefined
}
