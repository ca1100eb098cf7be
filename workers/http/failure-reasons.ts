import {
  addressNotAllowed,
  type ConnectorOptions,
  portNotAllowed,
  tlsNeeded,
} from '../../src/platform/http/guarded-connector.ts'
import { protocolSwitched } from '../../src/platform/http/interim-answers.ts'

/** Limit of one answer. */
export const maxAnswerBytes = 64 * 1024

const reasons: Record<string, string> = {
  [addressNotAllowed]: 'the address is not public (an operator may allow it: ALLOWED_PRIVATE_NETWORKS)',
  [tlsNeeded]:
    'http would cross the internet in plain text; use https (an operator may allow http: ALLOWED_PRIVATE_NETWORKS)',
  [portNotAllowed]: 'the port is not 80, 443 or one from 1024 on',
  ENOTFOUND: 'the host name does not exist',
  EAI_AGAIN: 'the host name could not be looked up',
  ECONNREFUSED: 'the connection was refused',
  UND_ERR_CONNECT_TIMEOUT: 'no connection in time',
  ECONNRESET: 'the connection was lost',
  EPIPE: 'the connection was lost',
  UND_ERR_SOCKET: 'the connection was lost',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the answer was cut off',
  UND_ERR_RES_EXCEEDED_MAX_SIZE: `the answer is longer than ${maxAnswerBytes} bytes`,
  HTTPParserError: 'the answer is not HTTP',
  [protocolSwitched]: 'the answer switches to another protocol (101)',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too long',
}
const isNoTls = /^(EPROTO|ERR_TLS_|ERR_SSL_|CERT_|SELF_SIGNED_|UNABLE_TO_|DEPTH_ZERO_)/

/** Alike for a client, who could otherwise learn which names the operator's network knows. */
const hiddenFromClients = [addressNotAllowed, tlsNeeded, 'ENOTFOUND', 'EAI_AGAIN']
const noPublicAddress = 'the address is not public, or cannot be found'
const noAddressForHttp =
  'http is for networks that the operator allows; use https, at a public address that can be found'

export interface FailureOptions extends Pick<ConnectorOptions, 'givenBy'> {
  /** Whether the call was by http, where http is for allowed networks only. */
  isInClear?: boolean
}

/** The reason of a failed call. It never contains the URL or text of the server. */
export function describeFailure(
  error: Error & { code?: string },
  { givenBy = 'operators', isInClear = false }: FailureOptions = {},
): string {
  const { name, code = name } = error
  if (givenBy === 'clients' && hiddenFromClients.includes(code))
    return isInClear ? noAddressForHttp : noPublicAddress
  const reason = reasons[code] ?? reasons[name]
  if (reason) return reason
  if (isNoTls.test(code)) return `no TLS connection (${code})`
  return `the call failed (${code})`
}
