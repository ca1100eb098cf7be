const meanings: Record<number, string> = {
  400: 'it considers the request invalid',
  401: "it does not accept the channel's credentials",
  403: 'it does not allow this',
  404: 'the address that was called does not exist',
  405: 'the address that was called does not support this method',
  408: 'it waited too long for the request',
  409: 'the request conflicts with its current state',
  410: 'the address that was called is gone for good',
  413: 'the message is too large for it',
  415: 'it does not accept this type of content',
  422: 'it cannot process the content',
  425: 'it does not take the request so early',
  429: 'it was called too often',
  500: 'it had an internal error',
  502: 'a server behind it gave an invalid answer',
  503: 'it is out of service or overloaded',
  504: 'a server behind it did not answer in time',
}

/** The meaning of a failed HTTP status: a clause with the answering server as "it". */
export function meaningOfStatus(status: number | undefined): string | undefined {
  if (status === undefined) return undefined
  if (meanings[status]) return meanings[status]
  if (status >= 300 && status < 400) return 'it redirects, which is not followed'
  if (status >= 400 && status < 500) return meanings[400]
  return status >= 500 ? meanings[500] : undefined
}
